#include "names.hpp"

#include <algorithm>
#include <cstring>

namespace tertulia {

namespace {

// A table of a dump has some twenty attributes; whoever writes more than this cannot make the search for a name slow.
constexpr std::size_t kMostNames = 64;

}  // namespace

std::size_t Names::add(std::string_view text) {
    Name name;
    name.text = std::string(text);
    if (text.size() + 2 <= sizeof name.pattern) {
        std::memcpy(name.pattern, text.data(), text.size());
        std::memcpy(name.pattern + text.size(), "=\"", 2);
        name.pattern_size = text.size() + 2;
    }
    names_.push_back(std::move(name));
    return names_.size() - 1;
}

std::size_t Names::find(std::string_view text) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
        if (names_[i].text == text) return i;
    }
    return kNone;
}

void Names::want(const std::string& text, std::size_t column) {
    std::size_t index = find(text);
    if (index == kNone) index = add(text);
    names_[index].columns.push_back(column);
}

const std::uint8_t* Names::read_unexpected(const std::uint8_t* p, const std::vector<std::size_t>*& columns) {
    if (!starts_name(*p)) return nullptr;
    const std::uint8_t* end = p + 1;
    while (continues_name(*end)) ++end;
    if (end[0] != '=' || end[1] != '"') return nullptr;
    const std::string_view text(reinterpret_cast<const char*>(p), static_cast<std::size_t>(end - p));
    std::size_t index = find(text);
    if (index == kNone && names_.size() < kMostNames) index = add(text);
    if (index == kNone) {
        extras_.push_back(text);
        columns = nullptr;
        return end + 2;
    }
    (previous_ == kNone ? first_ : names_[previous_].next) = index;
    return meet(index, columns) ? end + 2 : nullptr;
}

bool Names::extras_are_distinct() {
    std::sort(extras_.begin(), extras_.end());
    return std::adjacent_find(extras_.begin(), extras_.end()) == extras_.end();
}

}  // namespace tertulia

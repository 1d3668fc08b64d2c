#include "vocabulary.hpp"

#include <cstring>

#include "../kernel/english.hpp"

namespace tertulia {
namespace {

std::uint32_t hash_of(std::string_view word) {
    std::uint64_t hash = 0x9E3779B97F4A7C15ull ^ word.size();
    const char* at = word.data();
    std::size_t left = word.size();
    for (; left >= 8; left -= 8, at += 8) {
        std::uint64_t part;
        std::memcpy(&part, at, 8);
        hash = (hash ^ part) * 0xBF58476D1CE4E5B9ull;
        hash ^= hash >> 29;
    }
    std::uint64_t part = 0;
    std::memcpy(&part, at, left);
    hash = (hash ^ part) * 0xBF58476D1CE4E5B9ull;
    return static_cast<std::uint32_t>((hash ^ (hash >> 31)) >> 7);
}

}  // namespace

Vocabulary::Vocabulary() : ends_(1, 0), table_(1024, kNone) {
    // An empty vector has no address, which Python takes for no bytes at all.
    words.reserve(64);
    counts.reserve(64);
}

std::string_view Vocabulary::word(std::uint32_t number) const {
    return std::string_view(bytes_).substr(ends_[number], ends_[number + 1] - ends_[number]);
}

void Vocabulary::grow() {
    table_.assign(table_.size() * 2, kNone);
    const std::size_t mask = table_.size() - 1;
    for (std::uint32_t number = 0; number < size(); ++number) {
        std::size_t at = hash_[number] & mask;
        while (table_[at] != kNone) at = (at + 1) & mask;
        table_[at] = number;
    }
}

std::uint32_t Vocabulary::number_of(std::string_view wanted) {
    const std::uint32_t hash = hash_of(wanted);
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash & mask;
    for (; table_[at] != kNone; at = (at + 1) & mask) {
        if (hash_[table_[at]] == hash && word(table_[at]) == wanted) return table_[at];
    }
    if (!adds_) return kNone;
    const auto number = static_cast<std::uint32_t>(size());
    table_[at] = number;
    bytes_.append(wanted);
    ends_.push_back(bytes_.size());
    hash_.push_back(hash);
    seen_in_.push_back(0);
    place_.push_back(0);
    if (size() * 2 > table_.size()) grow();
    return number;
}

void Vocabulary::begin(bool adds) {
    adds_ = adds;
    words.clear();
    counts.clear();
    length = 0;
    if (++text_ == 0) {  // after four thousand million texts the marks start anew
        seen_in_.assign(seen_in_.size(), 0);
        text_ = 1;
    }
}

void Vocabulary::take(std::string_view word) {
    ++length;
    const std::uint32_t number = number_of(word);
    if (number == kNone) return;
    if (seen_in_[number] == text_) {
        ++counts[place_[number]];
        return;
    }
    seen_in_[number] = text_;
    place_[number] = static_cast<std::uint32_t>(words.size());
    words.push_back(number);
    counts.push_back(1);
}

bool take_english(std::string_view text, std::string& buffer, Vocabulary& vocabulary) {
    return english::each_word(text, buffer, [&](std::string_view word) { vocabulary.take(word); });
}

}  // namespace tertulia

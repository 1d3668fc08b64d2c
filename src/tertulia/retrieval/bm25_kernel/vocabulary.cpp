#include "vocabulary.hpp"

#include <array>
#include <cstring>

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

enum Class : unsigned char { kOther = 0, kLetter = 1, kDigit = 2 };

constexpr std::array<unsigned char, 256> make_classes() {
    std::array<unsigned char, 256> classes{};
    for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = kLetter;
    for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = kDigit;
    return classes;
}

constexpr std::array<unsigned char, 256> kClass = make_classes();

unsigned char class_of(char c) { return kClass[static_cast<unsigned char>(c)]; }

// The bytes of the character at `i` if it is one of the common ones that are not ASCII and neither letter nor digit, and what
// stands for it: an apostrophe or a space. 0 for any other.
std::size_t common_mark(std::string_view text, std::size_t i, char& mark) {
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    const unsigned first = byte(i), second = byte(i + 1), third = byte(i + 2);
    mark = ' ';
    if (first == 0xE2 && second == 0x80 && third >= 0x90 && third <= 0xA7) {  // U+2010 to U+2027: dashes, quotes, dots
        if (third == 0x98 || third == 0x99) mark = '\'';
        return 3;
    }
    if (first == 0xCA && second == 0xBC) {
        mark = '\'';
        return 2;
    }
    // No-break space, guillemets, degree sign, middle dot.
    if (first == 0xC2 && (second == 0xA0 || second == 0xAB || second == 0xB0 || second == 0xB7 || second == 0xBB)) return 2;
    return 0;
}

// Lower case, apostrophes folded, common marks as spaces.
bool normalise(std::string_view text, std::string& out) {
    out.resize(text.size());
    char* end = out.data();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (static_cast<unsigned char>(c) < 0x80) {
            *end++ = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
            continue;
        }
        char mark;
        const std::size_t bytes = common_mark(text, i, mark);
        if (bytes == 0) return false;
        *end++ = mark;
        i += bytes - 1;
    }
    out.resize(static_cast<std::size_t>(end - out.data()));
    return true;
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
    if (!normalise(text, buffer)) return false;
    const std::string_view s = buffer;
    std::size_t i = 0;
    while (i < s.size()) {
        if (class_of(s[i]) == kOther) {
            ++i;
            continue;
        }
        const std::size_t start = i;
        while (i < s.size() && class_of(s[i]) != kOther) ++i;
        // An apostrophe joins what follows it only where letters do: "don't", but "90" and "2" in "90'2".
        while (i + 1 < s.size() && s[i] == '\'' && class_of(s[i + 1]) == kLetter) {
            i += 2;
            while (i < s.size() && class_of(s[i]) == kLetter) ++i;
        }
        vocabulary.take(s.substr(start, i - start));
    }
    return true;
}

}  // namespace tertulia

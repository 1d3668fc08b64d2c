// The words of an English text as retrieval/tokenizer.py defines them, for texts that C++ can tell them of.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tertulia::english {

enum Class : unsigned char { kOther = 0, kLetter = 1, kDigit = 2 };

constexpr std::array<unsigned char, 256> make_classes() {
    std::array<unsigned char, 256> classes{};
    for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = kLetter;
    for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = kDigit;
    return classes;
}

inline constexpr std::array<unsigned char, 256> kClass = make_classes();

inline unsigned char class_of(char c) { return kClass[static_cast<unsigned char>(c)]; }

// The bytes of the character at `i` if it is one of the common ones that are not ASCII and neither letter nor digit, and what
// stands for it: an apostrophe or a space. 0 for any other.
inline std::size_t common_mark(std::string_view text, std::size_t i, char& mark) {
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
inline bool normalise(std::string_view text, std::string& out) {
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

// Gives each word to `take`, in order; false where the text has a character that only Python can tell of (nothing is taken then).
template <class Take>
bool each_word(std::string_view text, std::string& buffer, Take&& take) {
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
        take(s.substr(start, i - start));
    }
    return true;
}

}  // namespace tertulia::english

#include "words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tertulia {
namespace {

enum Class : unsigned char { kOther = 0, kLetter = 1, kDigit = 2 };

constexpr std::array<unsigned char, 256> make_classes() {
    std::array<unsigned char, 256> classes{};
    for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = kLetter;
    for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = kDigit;
    return classes;
}

constexpr std::array<unsigned char, 256> kClass = make_classes();

unsigned char class_of(char c) { return kClass[static_cast<unsigned char>(c)]; }

// Lower case, apostrophes folded.
bool normalise(std::string_view text, std::string& out) {
    out.resize(text.size());
    char* end = out.data();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (static_cast<unsigned char>(c) < 0x80) {
            *end++ = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        } else if (text.compare(i, 3, "\xE2\x80\x98") == 0 || text.compare(i, 3, "\xE2\x80\x99") == 0) {
            *end++ = '\'';
            i += 2;
        } else if (text.compare(i, 2, "\xCA\xBC") == 0) {
            *end++ = '\'';
            i += 1;
        } else {
            return false;
        }
    }
    out.resize(static_cast<std::size_t>(end - out.data()));
    return true;
}

}  // namespace

bool ascii_words(std::string_view text, std::string& buffer, std::vector<std::string_view>& words) {
    words.clear();
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
        words.push_back(s.substr(start, i - start));
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return true;
}

}  // namespace tertulia

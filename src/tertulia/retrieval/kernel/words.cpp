#include "words.hpp"

#include <algorithm>

#include "english.hpp"

namespace tertulia {

bool ascii_words(std::string_view text, std::string& buffer, std::vector<std::string_view>& words) {
    words.clear();
    if (!english::each_word(text, buffer, [&](std::string_view word) { words.push_back(word); })) return false;
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return true;
}

}  // namespace tertulia

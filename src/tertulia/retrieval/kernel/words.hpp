// The words of an ASCII text, as tokenizer.py defines them for English.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

// Puts the distinct words of `text` (UTF-8), sorted, into `words`; they are views of `buffer`. False, and nothing said about
// `words`, where the text has a character beyond ASCII other than the apostrophes U+2018, U+2019 and U+02BC: what is a
// letter there, and what its lower case is, Python knows.
bool ascii_words(std::string_view text, std::string& buffer, std::vector<std::string_view>& words);

}  // namespace tertulia

// The words of a collection of texts, numbered from 0 as they come, and how often a text has each of its words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tertulia {

// Counts words: first `begin`, then every word of a text, after which `words` and `counts` have them, as they first came.
class Vocabulary {
public:
    Vocabulary();

    std::size_t size() const { return ends_.size() - 1; }

    // `adds` says whether words that are new get a number; else they are left out.
    void begin(bool adds);
    void take(std::string_view word);

    std::uint64_t length = 0;  // the words of the text, repetitions counted
    std::vector<std::uint32_t> words, counts;

private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

    std::string_view word(std::uint32_t number) const;
    std::uint32_t number_of(std::string_view word);
    void grow();

    bool adds_ = true;
    std::uint32_t text_ = 0;
    std::string bytes_;                      // all words, one after the other
    std::vector<std::uint64_t> ends_;        // where each begins, and where the last one ends
    std::vector<std::uint32_t> table_;       // a hash table: the word's number, or kNone
    std::vector<std::uint32_t> hash_;        // of each word
    std::vector<std::uint32_t> seen_in_;     // of each word the last text that had it
    std::vector<std::uint32_t> place_;       // and where it is in `words`
};

// Gives the vocabulary the English words of a text, as EnglishTokenizer defines them; false, having given none, where the text
// has characters that Python must judge. `buffer` is room for the text.
bool take_english(std::string_view text, std::string& buffer, Vocabulary& vocabulary);

}  // namespace tertulia

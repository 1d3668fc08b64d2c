// A segment as the kernel sees it: borrowed pointers into the mapped file. The layout is described in layout.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace tertulia {

constexpr std::uint32_t kBlock = 64;

// One record a row.
struct Row {
    std::uint64_t second;     // a second signature: another hash of the words that are not common
    float reciprocal;         // 1 / norm of the row's cubed weights, rounded up; 0 for a row without words
    std::uint32_t first;      // where the row's words begin in `term`
};
static_assert(sizeof(Row) == 16, "a record of the index file has 16 bytes");

// Posting lists: those of word w are row[first[w]] to row[first[w + 1]], in blocks of 64 with one bound each.
struct Lists {
    const std::uint32_t* first = nullptr;
    const std::uint32_t* row = nullptr;
    const std::uint32_t* block = nullptr;
    const float* least = nullptr;

    std::uint32_t length(std::uint32_t word) const { return first[word + 1] - first[word]; }
};

// One bit a row.
class Bits {
public:
    void assign(std::size_t count) { words_.assign((count + 63) / 64, 0); }
    void set(std::size_t index) { words_[index / 64] |= std::uint64_t{1} << (index % 64); }
    bool operator[](std::size_t index) const { return words_[index / 64] >> (index % 64) & 1; }
    bool empty() const { return words_.empty(); }

private:
    std::vector<std::uint64_t> words_;
};

struct Segment {
    std::uint32_t rows = 0, words = 0, dialogues = 0;
    std::size_t terms = 0;
    const Row* row = nullptr;
    // One bit for each word of the row, words sharing 64 bits. Apart from the records, so that more of them fit the cache:
    // most candidates are met once and ruled out by it.
    const std::uint64_t* signature = nullptr;
    const void* term = nullptr;
    bool wide_terms = false;  // `term` has 32-bit numbers, otherwise 16-bit
    const double* norm = nullptr;
    Lists context, response;
    const float* context_most = nullptr;
    const double* weight = nullptr;
    const std::uint8_t* word_bit = nullptr;
    const std::uint32_t* word_offset = nullptr;
    const char* word_bytes = nullptr;
    const std::uint32_t* word_slot = nullptr;
    std::uint32_t slot_mask = 0;
    const std::uint32_t* dialogue_row = nullptr;
    const std::int64_t* dialogue_number = nullptr;

    Bits opens;                         // the row is the first of its dialogue
    Bits dead;                          // the row was removed; empty where none was
    std::vector<std::uint32_t> absent;  // the words that no row left has, ascending

    // The number of a word that a row still there has, or -1.
    std::int64_t find(std::string_view word) const;

    // The number in the bank of a row's utterance.
    std::int64_t number_of(std::uint32_t row) const;
};

}  // namespace tertulia

// A block of an index: consecutive documents, and for each word that one of them has the list of those that have it.
//
// A list is sparse (the documents that have the word, each with the word's weight there) or dense (a weight for every
// document, 0 where it has not the word). Dense lists lie chunk by chunk: the weights of all of them for 64 documents stand
// together, so that one chunk is scored out of the cache. Weights are whole numbers, so the order of sums does not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tertulia {

constexpr std::uint32_t kBlock = 8192;  // documents of a block; BLOCK in retrieval/bm25/lists.py
constexpr std::uint32_t kChunk = 64;    // documents of a chunk; CHUNK there
constexpr std::uint32_t kSparse = 0xFFFFFFFFu;

constexpr std::uint32_t kDense = 0xFFFFFFFFu;

// All that a search needs to know of a list, side by side: a look is one miss of the cache.
struct List {
    std::uint32_t word = 0;
    std::uint32_t first = 0;   // its first posting, or its number among the dense lists
    std::uint32_t length = 0;  // its postings, or kDense
    std::uint32_t most = 0;    // its largest weight; 0 where there is no list
};

struct Block {
    std::uint32_t documents = 0;
    std::uint32_t lists = 0;
    std::uint32_t dense_lists = 0;
    const std::uint32_t* word = nullptr;       // of each list, ascending
    const std::uint32_t* first = nullptr;      // of each list its first posting, and one more
    const std::uint32_t* slot = nullptr;       // of each list its number among the dense ones, or kSparse
    const std::uint32_t* most = nullptr;       // of each list its largest weight
    const std::uint16_t* document = nullptr;   // of each posting, counted within the block
    const std::uint32_t* weight = nullptr;     // of each posting
    const std::uint16_t* dense = nullptr;      // chunk, dense list, document of the chunk
    std::vector<List> table;  // a hash table of the lists
    std::uint32_t mask = 0;

    std::uint32_t place(std::uint32_t wanted) const { return (wanted * 2654435769u >> 7) & mask; }

    void fill_table() {
        std::size_t size = 16;
        while (2 * size < std::size_t{3} * lists) size *= 2;
        table.assign(size, List{});
        mask = static_cast<std::uint32_t>(size - 1);
        for (std::uint32_t list = 0; list < lists; ++list) {
            std::uint32_t at = place(word[list]);
            while (table[at].most != 0) at = (at + 1) & mask;
            // A list whose weights are all 0 changes no score, and its place stays empty.
            table[at] = {word[list], slot[list] == kSparse ? first[list] : slot[list],
                         slot[list] == kSparse ? first[list + 1] - first[list] : kDense, most[list]};
        }
    }

    // The list of a word; one without postings where there is none.
    const List& find(std::uint32_t wanted) const {
        std::uint32_t at = place(wanted);
        while (table[at].most != 0 && table[at].word != wanted) at = (at + 1) & mask;
        return table[at];
    }
};

}  // namespace tertulia

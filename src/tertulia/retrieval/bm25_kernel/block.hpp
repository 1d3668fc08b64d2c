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
    std::vector<std::uint32_t> table;          // a hash table of lists: the list's number + 1, 0 for an empty place
    std::uint32_t mask = 0;

    std::uint32_t place(std::uint32_t wanted) const { return (wanted * 2654435769u >> 7) & mask; }

    void fill_table() {
        std::size_t size = 16;
        while (size < std::size_t{2} * lists) size *= 2;
        table.assign(size, 0);
        mask = static_cast<std::uint32_t>(size - 1);
        for (std::uint32_t list = 0; list < lists; ++list) {
            std::uint32_t at = place(word[list]);
            while (table[at] != 0) at = (at + 1) & mask;
            table[at] = list + 1;
        }
    }

    // The list of a word, or -1.
    std::int64_t find(std::uint32_t wanted) const {
        for (std::uint32_t at = place(wanted); table[at] != 0; at = (at + 1) & mask) {
            const std::uint32_t list = table[at] - 1;
            if (word[list] == wanted) return list;
        }
        return -1;
    }
};

}  // namespace tertulia

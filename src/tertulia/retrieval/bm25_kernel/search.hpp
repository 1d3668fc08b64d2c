// The exact search of one block for one query, and the best documents found so far.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "block.hpp"

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TERTULIA_HAS_AVX2_VARIANT 1
#endif

namespace tertulia {

struct Query {
    const std::uint32_t* word = nullptr;
    const std::uint32_t* count = nullptr;  // how often the query has the word
    std::size_t words = 0;
};

// A document and its score as one value: the larger, the better; of equal scores the smaller document is the better.
template <class Sum>
struct Key;

template <>
struct Key<std::uint32_t> {
    using Type = std::uint64_t;
    static Type make(std::uint32_t score, std::uint32_t document) {
        return (std::uint64_t{score} << 32) | (0xFFFFFFFFu - document);
    }
    static std::uint32_t score(Type key) { return static_cast<std::uint32_t>(key >> 32); }
    static std::uint32_t document(Type key) { return 0xFFFFFFFFu - static_cast<std::uint32_t>(key); }
};

template <>
struct Key<std::uint64_t> {
    using Type = std::pair<std::uint64_t, std::uint32_t>;
    static Type make(std::uint64_t score, std::uint32_t document) { return {score, 0xFFFFFFFFu - document}; }
    static std::uint64_t score(const Type& key) { return key.first; }
    static std::uint32_t document(const Type& key) { return 0xFFFFFFFFu - key.second; }
};

// The k best keys. Documents must come in ascending order: then one that only equals the k-th best is none of the best.
template <class Sum>
class Best {
public:
    explicit Best(std::size_t k) : k_(k), room_(2 * k + 64) { keys_.reserve(room_); }

    Sum threshold() const { return threshold_; }

    void add(Sum score, std::uint32_t document) {
        keys_.push_back(Key<Sum>::make(score, document));
        if (keys_.size() == room_) shrink();
    }

    std::vector<typename Key<Sum>::Type>& sorted() {
        if (keys_.size() > k_) shrink();
        std::sort(keys_.begin(), keys_.end(), std::greater<>());
        return keys_;
    }

private:
    void shrink() {
        std::nth_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(k_ - 1), keys_.end(), std::greater<>());
        keys_.resize(k_);
        threshold_ = Key<Sum>::score(keys_[k_ - 1]);
    }

    std::size_t k_, room_;
    Sum threshold_ = 0;
    std::vector<typename Key<Sum>::Type> keys_;
};

struct DenseWord {
    std::size_t offset;  // of the list's weights in a chunk
    std::uint32_t count;
};

// What one thread needs; `sums` is all zero between searches.
template <class Sum>
struct Scratch {
    std::vector<Sum> sums = std::vector<Sum>(kBlock, 0);
    std::vector<DenseWord> dense;
};

template <class Sum>
using SearchFunction = void (*)(const Block&, const Query&, std::uint32_t, Scratch<Sum>&, Best<Sum>&);

namespace baseline {
void search_narrow(const Block&, const Query&, std::uint32_t, Scratch<std::uint32_t>&, Best<std::uint32_t>&);
void search_wide(const Block&, const Query&, std::uint32_t, Scratch<std::uint64_t>&, Best<std::uint64_t>&);
}  // namespace baseline

#ifdef TERTULIA_HAS_AVX2_VARIANT
namespace avx2 {
void search_narrow(const Block&, const Query&, std::uint32_t, Scratch<std::uint32_t>&, Best<std::uint32_t>&);
void search_wide(const Block&, const Query&, std::uint32_t, Scratch<std::uint64_t>&, Best<std::uint64_t>&);
}  // namespace avx2
#endif

}  // namespace tertulia

// The search of a block. Included once for each processor variant, which defines TERTULIA_VARIANT.
//
// Sparse lists are added into an array of sums, which fits the first cache; then the chunks are finished one by one. With R
// the most that the dense lists can add to any document, a chunk whose largest sum is not above the k-th best score less R
// holds none of the best and is passed over.

namespace tertulia {
namespace TERTULIA_VARIANT {

template <class Sum>
inline void add_dense(Sum* sums, const std::uint16_t* weights, const std::vector<DenseWord>& words) {
    for (const DenseWord& word : words) {
        const std::uint16_t* weight = weights + word.offset;
        if (word.count == 1) {
            for (std::uint32_t i = 0; i < kChunk; ++i) sums[i] += weight[i];
        } else {
            const Sum count = word.count;
            for (std::uint32_t i = 0; i < kChunk; ++i) sums[i] += weight[i] * count;
        }
    }
}

template <class Sum>
inline Sum largest(const Sum* sums) {
    Sum most = 0;
    for (std::uint32_t i = 0; i < kChunk; ++i) most = std::max(most, sums[i]);
    return most;
}

// Adds the block's documents that may be among the best; `base` is the number of its first document.
template <class Sum>
void search_block(const Block& block, const Query& query, std::uint32_t base, Scratch<Sum>& scratch, Best<Sum>& best) {
    Sum* const sums = scratch.sums.data();
    scratch.dense.clear();
    Sum rest = 0;
    for (std::size_t i = 0; i < query.words; ++i) {
        const List& list = block.find(query.word[i]);
        const std::uint32_t count = query.count[i];
        if (list.length == kDense) {
            scratch.dense.push_back({std::size_t{list.first} * kChunk, count});
            rest += static_cast<Sum>(list.most) * count;
            continue;
        }
        const std::uint16_t* document = block.document + list.first;
        const std::uint32_t* weight = block.weight + list.first;
        if (count == 1) {
            for (std::uint32_t at = 0; at < list.length; ++at) sums[document[at]] += weight[at];
        } else {
            for (std::uint32_t at = 0; at < list.length; ++at) {
                sums[document[at]] += static_cast<Sum>(weight[at]) * count;
            }
        }
    }
    const std::uint32_t chunks = (block.documents + kChunk - 1) / kChunk;
    const std::size_t stride = std::size_t{block.dense_lists} * kChunk;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        Sum* const own = sums + std::size_t{chunk} * kChunk;
        Sum most = largest(own);
        if (rest > 0 && most + rest > best.threshold()) {
            add_dense(own, block.dense + chunk * stride, scratch.dense);
            most = largest(own);
        }
        if (most > best.threshold()) {
            for (std::uint32_t i = 0; i < kChunk; ++i) {
                if (own[i] > best.threshold()) best.add(own[i], base + chunk * kChunk + i);
            }
        }
        std::fill(own, own + kChunk, Sum{0});
    }
}

void search_narrow(const Block& block, const Query& query, std::uint32_t base, Scratch<std::uint32_t>& scratch,
                   Best<std::uint32_t>& best) {
    search_block(block, query, base, scratch, best);
}

void search_wide(const Block& block, const Query& query, std::uint32_t base, Scratch<std::uint64_t>& scratch,
                 Best<std::uint64_t>& best) {
    search_block(block, query, base, scratch, best);
}

}  // namespace TERTULIA_VARIANT
}  // namespace tertulia

// What a search is given and what it keeps; search_variant.hpp has the search itself, compiled once for each processor.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "segment.hpp"

namespace tertulia {

// A query of more known words, or for more responses, is left to NumPy: signatures rule out little of what shares words
// with so many, and reading every list from end to end is then the faster way.
constexpr std::size_t kMostWords = 100;
constexpr std::size_t kMostResponses = 256;

// A word that the query and a segment share, with its weights to the powers 2, 6 and 8.
struct QueryWord {
    std::uint32_t word;
    double second, sixth, eighth;
};

struct SegmentQuery {
    std::vector<QueryWord> words, previous;          // ascending by word
    std::uint32_t topic_start = 0, topic_end = 0;    // the rows that get the bonus
};

struct Parameters {
    double query_norm, bonus, lam;
};

struct Hit {
    double score;
    const Segment* segment;
    std::uint32_t row;
    // Not looked up yet where they are negative: only ties and the final answer need them.
    double norm = -1;
    std::int64_t number = -1;

    void look_up();
};

// The best hits so far, sorted: by score and norm descending, then by number ascending.
class TopK {
public:
    explicit TopK(std::size_t k) : k_(k) { hits_.reserve(k); }

    bool full() const { return hits_.size() == k_; }
    // No response with a lower score can be among the best. 0 until there are k.
    double threshold() const { return threshold_; }
    void offer(double score, const Segment& segment, std::uint32_t row);
    std::vector<Hit>& hits() { return hits_; }

private:
    static bool better(Hit& a, Hit& b);

    std::size_t k_;
    std::vector<Hit> hits_;
    double threshold_ = 0;
};

// Memory that one thread uses again for each of its searches.
struct Scratch {
    // Word number -> place in the query, 0 where the query has not the word; all 0 between searches.
    std::vector<std::uint8_t> slot, previous_slot;
};

// Offers every response of the segment that can be among the best. False where the file contradicts itself.
using SearchFunction = bool (*)(const Segment&, const SegmentQuery&, const Parameters&, TopK&, Scratch&);

namespace baseline {
bool search_segment(const Segment&, const SegmentQuery&, const Parameters&, TopK&, Scratch&);
}
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TERTULIA_HAS_AVX2_VARIANT 1
namespace avx2 {
bool search_segment(const Segment&, const SegmentQuery&, const Parameters&, TopK&, Scratch&);
}
#endif

}  // namespace tertulia

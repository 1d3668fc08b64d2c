#include "search.hpp"

#include <cmath>

namespace tertulia {
namespace {

// The norm of the response's plain weights, added in term order.
template <class Term>
double norm_of(const Segment& segment, std::uint32_t row) {
    const Term* term = static_cast<const Term*>(segment.term);
    const std::size_t start = segment.row[row].first, end = segment.row[row + 1].first;
    double sum = 0;
    for (std::size_t p = start; p < end && p < segment.terms; ++p) {
        if (term[p] >= segment.words) continue;  // only in a damaged file
        const double weight = segment.weight[term[p]];
        sum += weight * weight;
    }
    return std::sqrt(sum);
}

}  // namespace

void Hit::look_up() {
    if (norm >= 0) return;
    norm = segment->wide_terms ? norm_of<std::uint32_t>(*segment, row) : norm_of<std::uint16_t>(*segment, row);
    number = segment->number_of(row);
}

bool TopK::better(Hit& a, Hit& b) {
    if (a.score != b.score) return a.score > b.score;
    a.look_up();
    b.look_up();
    return a.norm != b.norm ? a.norm > b.norm : a.number < b.number;
}

void TopK::offer(double score, const Segment& segment, std::uint32_t row) {
    if (full() && score < threshold_) return;
    Hit hit{score, &segment, row};
    // A response comes once for each list it is in, and always with the same score.
    for (const Hit& other : hits_) {
        if (other.row == row && other.segment == &segment) return;
    }
    if (full()) {
        if (!better(hit, hits_.back())) return;
        hits_.back() = hit;
    } else {
        hits_.push_back(hit);
    }
    for (std::size_t i = hits_.size() - 1; i > 0 && better(hits_[i], hits_[i - 1]); --i) std::swap(hits_[i], hits_[i - 1]);
    if (full()) threshold_ = hits_.back().score;
}

}  // namespace tertulia

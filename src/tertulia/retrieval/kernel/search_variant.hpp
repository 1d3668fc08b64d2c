// The exact search of one segment. Included once for each processor variant, which defines TERTULIA_VARIANT.
//
// The score of a response r with context c and wider context r_{i-2} is
//     (S_c + S_cr) · sqrt(S_c) / (‖q³‖ ‖c³‖) + λ S_2cq + bonus.
// For each query word there is a list of the rows that have it in c, in r, and in r_{i-2}. Lists are read one after the
// other, and each row met is scored unless a bound rules it out. With A, V and B the weights, summed, of the words whose
// lists have not been read, a response not met yet has S_c <= A, S_cr <= V and S_2cq <= B, and S_c <= ‖c³‖² always. Hence
//     score <= (A + V) · min(1, sqrt(A) / ‖c³‖) / ‖q³‖ + λ B + bonus,
// and once that is below the k-th best score, no response that was not met can be among the best. Within a list the
// norms ascend, block by block, so that the same bound ends a list early. docs/matching.md has the argument in full.

namespace tertulia {
namespace TERTULIA_VARIANT {

#if defined(__GNUC__) || defined(__clang__)
inline void prefetch(const void* address) { __builtin_prefetch(address); }
#else
inline void prefetch(const void*) {}
#endif

// Above the rounding error of a bound computed in float64.
constexpr double kSlack = 1 + 1e-9;
// A list costs at least this many postings, for the cache misses of starting it.
constexpr double kListCost = 64;
constexpr std::uint32_t kFirstScored = 16;

template <class Term>
class SegmentSearch {
public:
    SegmentSearch(const Segment& segment, const SegmentQuery& query, const Parameters& parameters, TopK& top,
                  Scratch& scratch)
        : segment_(segment), query_(query), parameters_(parameters), top_(top), scratch_(scratch),
          term_(static_cast<const Term*>(segment.term)), bonus_(query.topic_start < query.topic_end ? parameters.bonus : 0) {
        mark_words();
        order_lists();
        fill_bounds();
    }

    ~SegmentSearch() {
        for (const QueryWord& word : query_.words) scratch_.slot[word.word] = 0;
        for (const QueryWord& word : query_.previous) scratch_.previous_slot[word.word] = 0;
    }

    SegmentSearch(const SegmentSearch&) = delete;
    SegmentSearch& operator=(const SegmentSearch&) = delete;

    bool run() {
        const std::size_t words = context_order_.size(), previous = previous_order_.size();
        while (context_read_ < words || previous_read_ < previous) {
            if (top_.full() && (matching_rest() + wider_rest() + bonus_) * kSlack < top_.threshold()) break;
            switch (cheapest_list()) {
                case kContext: read_context_list(); break;
                case kResponse: read_response_list(); break;
                case kWider: read_wider_list(); break;
            }
        }
        return sound_;
    }

private:
    enum ListKind { kContext, kResponse, kWider };

    // ---------------------------------------------------------------- preparation

    void mark_words() {
        context_weight_[0] = response_weight_[0] = wider_weight_[0] = 0;
        std::uint8_t slot = 0;
        for (const QueryWord& word : query_.words) {
            scratch_.slot[word.word] = ++slot;
            context_weight_[slot] = word.sixth;
            response_weight_[slot] = word.eighth;
        }
        slot = 0;
        for (const QueryWord& word : query_.previous) {
            scratch_.previous_slot[word.word] = ++slot;
            wider_weight_[slot] = word.second;
        }
    }

    // The heaviest word first, and behind each what it and those after it weigh together.
    void order_lists() {
        context_order_ = query_.words;
        previous_order_ = query_.previous;
        const auto heavier = [](const QueryWord& a, const QueryWord& b) {
            return a.second != b.second ? a.second > b.second : a.word < b.word;
        };
        std::sort(context_order_.begin(), context_order_.end(), heavier);
        std::sort(previous_order_.begin(), previous_order_.end(), heavier);
        sixth_left_[context_order_.size()] = eighth_left_[context_order_.size()] = 0;
        for (std::size_t i = context_order_.size(); i-- > 0;) {
            sixth_left_[i] = sixth_left_[i + 1] + context_order_[i].sixth;
            eighth_left_[i] = eighth_left_[i + 1] + context_order_[i].eighth;
        }
        second_left_[previous_order_.size()] = 0;
        for (std::size_t i = previous_order_.size(); i-- > 0;) {
            second_left_[i] = second_left_[i + 1] + previous_order_[i].second;
        }
    }

    void fill_bounds() {
        BitMass sixth, eighth, second, second_signature;
        double in_no_bit = 0;
        for (const QueryWord& word : query_.words) {
            const std::uint8_t bit = segment_.word_bit[word.word];
            sixth.add(bit, word.sixth);
            eighth.add(bit, word.eighth);
            const int other = second_bit(bit, word.word);
            if (other < 0) {
                in_no_bit += word.sixth;
            } else {
                second_signature.add(other, word.sixth);
            }
        }
        for (const QueryWord& word : query_.previous) {
            second.add(segment_.word_bit[word.word], parameters_.lam * word.second);
        }
        masks_.choose(sixth);
        context_bound_.fill(sixth, masks_);
        context_bound_.fill_roots(context_root_, masks_);
        response_bound_.fill(eighth, masks_);
        previous_masks_.choose(second);
        wider_bound_.fill(second, previous_masks_);
        const std::uint64_t mask = second_signature.heaviest(second_signature.used);
        second_picker_ = Picker(mask);
        second_table_.fill(second_signature, mask, in_no_bit + second_signature.total(second_signature.used & ~mask));
        inverse_query_norm_ = parameters_.query_norm > 0 ? static_cast<float>(1 / parameters_.query_norm) * kUp : 0;
    }

    // ---------------------------------------------------------------- bounds on responses not met yet

    double sixth_left() const { return sixth_left_[context_read_]; }
    double eighth_left() const { return eighth_left_[response_read_]; }
    double wider_rest() const { return parameters_.lam * second_left_[previous_read_]; }
    double matching_rest() const {
        return context_read_ < context_order_.size() ? (sixth_left() + eighth_left()) / parameters_.query_norm : 0;
    }

    // The same where ‖c³‖ is at least `norm`.
    double matching_rest(double norm) const {
        const double a = sixth_left(), both = a + eighth_left();
        return norm * norm >= a ? both * std::sqrt(a) / (parameters_.query_norm * norm) : both / parameters_.query_norm;
    }

    // The list that lowers the bound most for its length.
    ListKind cheapest_list() const {
        double best = -1;
        ListKind kind = kContext;
        const auto consider = [&](ListKind which, double gain, std::uint32_t length) {
            const double value = gain / (length + kListCost);
            if (value > best) {
                best = value;
                kind = which;
            }
        };
        const bool contexts_left = context_read_ < context_order_.size();
        if (contexts_left) {
            const QueryWord& word = context_order_[context_read_];
            consider(kContext, word.sixth / parameters_.query_norm, segment_.context.length(word.word));
            if (top_.full() && response_read_ < context_order_.size()) {
                const QueryWord& other = context_order_[response_read_];
                consider(kResponse, other.eighth / parameters_.query_norm, segment_.response.length(other.word));
            }
        }
        if (previous_read_ < previous_order_.size() && (top_.full() || !contexts_left)) {
            const QueryWord& word = previous_order_[previous_read_];
            consider(kWider, parameters_.lam * word.second, segment_.context.length(word.word));
        }
        return kind;
    }

    // ---------------------------------------------------------------- lists

    void read_context_list() {
        const std::uint32_t word = context_order_[context_read_].word;
        read_by_norm(segment_.context, word, 1);
        ++context_read_;
    }

    void read_response_list() {
        const std::uint32_t word = context_order_[response_read_].word;
        read_by_norm(segment_.response, word, 0);
        ++response_read_;
    }

    // Reads a list by ascending norm of c; the response is `ahead` rows after a row of the list.
    void read_by_norm(const Lists& lists, std::uint32_t word, std::uint32_t ahead) {
        const std::uint32_t end = lists.first[word + 1];
        const float* least = lists.least + lists.block[word];
        std::uint32_t responses[kBlock];
        ask_for_signatures(lists.row + lists.first[word], std::min(kBlock, end - lists.first[word]));
        for (std::uint32_t start = lists.first[word]; start < end; start += kBlock, ++least) {
            const std::uint32_t next = start + kBlock;
            if (next < end) ask_for_signatures(lists.row + next, std::min(kBlock, end - next));
            const std::uint32_t count = copy_block(lists.row + start, std::min(kBlock, end - start), ahead, responses);
            std::uint32_t met = 0;
            if (!top_.full()) {
                while (met < count && met < kFirstScored) score(responses[met++]);
            }
            if (!top_.full()) {
                while (met < count) score(responses[met++]);
                continue;
            }
            const double rest = matching_rest(*least) + wider_rest();
            if ((rest + bonus_) * kSlack < top_.threshold()) break;
            const bool topic_only = rest * kSlack < top_.threshold();
            score_those_that_may_reach(responses + met, count - met, topic_only, *least);
        }
    }

    // Reads the list of r_{i-2}: the list of contexts backwards, by descending norm.
    void read_wider_list() {
        const std::uint32_t word = previous_order_[previous_read_].word;
        const std::uint32_t begin = segment_.context.first[word], end = segment_.context.first[word + 1];
        const float* most = segment_.context_most + segment_.context.block[word];
        const double matching = matching_rest(), left = second_left_[previous_read_];
        std::uint32_t responses[kBlock];
        for (std::uint32_t block = (end - begin + kBlock - 1) / kBlock; block-- > 0;) {
            const double rest = matching + parameters_.lam * std::min<double>(most[block], left);
            if (top_.full() && (rest + bonus_) * kSlack < top_.threshold()) break;
            const bool topic_only = top_.full() && rest * kSlack < top_.threshold();
            const std::uint32_t start = begin + block * kBlock;
            std::uint32_t count =
                copy_block(segment_.context.row + start, std::min(kBlock, end - start), 2, responses);
            count = keep(responses, count, [&](std::uint32_t response) { return has_wider(response); });
            if (!top_.full()) {
                for (std::uint32_t i = 0; i < count; ++i) score(responses[i]);
                continue;
            }
            const float enough = static_cast<float>(top_.threshold()) * kDown;
            if (topic_only) count = keep(responses, count, [&](std::uint32_t response) { return in_topic(response); });
            for (std::uint32_t i = 0; i < count; ++i) prefetch(&segment_.signature[responses[i] - 2]);
            const float without = static_cast<float>(matching) * kUp;
            count = keep(responses, count, [&](std::uint32_t response) {
                return wider_bound(response) + without + bonus_of(response) >= enough;
            });
            score_those_that_may_reach(responses, count, false, 0);
        }
        ++previous_read_;
    }

    // The responses of a block; a row number that the segment has not ends up in no array.
    std::uint32_t copy_block(const std::uint32_t* row, std::uint32_t count, std::uint32_t ahead, std::uint32_t* out) {
        std::uint32_t kept = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t response = row[i] + ahead;
            out[kept] = response;
            kept += response >= 1 && response < segment_.rows;
        }
        // Only the row two after the last but one of the segment may rightly not be there.
        if (kept != count && ahead < 2) sound_ = false;
        return kept;
    }

    template <class Test>
    static std::uint32_t keep(std::uint32_t* responses, std::uint32_t count, Test test) {
        std::uint32_t kept = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t response = responses[i];
            responses[kept] = response;
            kept += test(response);
        }
        return kept;
    }

    // What is read next is asked for ahead, all of a block at once: one wait for memory instead of one each.
    void ask_for_signatures(const std::uint32_t* row, std::uint32_t count) const {
        for (std::uint32_t i = 0; i < count; ++i) prefetch(&segment_.signature[row[i]]);
    }

    // Scores the responses that no bound rules out; their contexts have at least the norm `least`.
    void score_those_that_may_reach(std::uint32_t* responses, std::uint32_t count, bool topic_only, float least) {
        if (topic_only) count = keep(responses, count, [&](std::uint32_t response) { return in_topic(response); });
        const Left left(*this);
        const float most_share = least > 0 ? kUp / least : 0;
        count = keep(responses, count, [&](std::uint32_t response) {
            const std::uint64_t* signature = segment_.signature + response;
            const unsigned c = masks_.heavy(signature[-1]), r = masks_.heavy(signature[0]);
            const float s_c = std::min(context_bound_.coarse(c), left.sixth);
            const float s_cr = std::min(response_bound_.coarse(r), left.eighth);
            const float root = std::min(context_root_[c], left.root);
            const float share = most_share > 0 ? std::min(root * most_share, 1.0f) : 1.0f;
            return ((s_c + s_cr) * share * inverse_query_norm_ + left.wider) * kUp + bonus_of(response) >= left.enough;
        });
        for (std::uint32_t i = 0; i < count; ++i) prefetch(&segment_.row[responses[i] - 1]);
        count = keep(responses, count, [&](std::uint32_t response) { return may_reach(response, left); });
        for (std::uint32_t i = 0; i < count; ++i) {
            prefetch(&term_[segment_.row[responses[i] - 1].first]);
            prefetch(&segment_.norm[responses[i] - 1]);
        }
        for (std::uint32_t i = 0; i < count; ++i) score(responses[i]);
    }

    // ---------------------------------------------------------------- one response

    bool in_topic(std::uint32_t response) const {
        return response - query_.topic_start < query_.topic_end - query_.topic_start;
    }
    float bonus_of(std::uint32_t response) const { return in_topic(response) ? static_cast<float>(bonus_) * kUp : 0; }
    bool has_wider(std::uint32_t response) const {
        return response >= 2 && !segment_.opens[response] && !segment_.opens[response - 1];
    }

    // What words whose lists were not read can add, and the score that is to be reached.
    struct Left {
        explicit Left(const SegmentSearch& search)
            : sixth(static_cast<float>(search.sixth_left()) * kUp), root(std::sqrt(sixth) * kUp),
              eighth(static_cast<float>(search.eighth_left()) * kUp), wider(static_cast<float>(search.wider_rest()) * kUp),
              enough(static_cast<float>(search.top_.threshold()) * kDown) {}
        float sixth, root, eighth, wider, enough;
    };

    // Whether a response can reach the k-th score, by its signatures; rows met before were scored then.
    bool may_reach(std::uint32_t response, const Left& left) const {
        const Row& context = segment_.row[response - 1];
        const std::uint64_t* signature = segment_.signature + response;
        const float bonus = bonus_of(response);
        float s_c = std::min(context_bound_.fine(masks_.heavy(signature[-1]), masks_.light(signature[-1])), left.sixth);
        s_c = std::min(s_c, second_table_[second_picker_(context.second)]);
        const float s_cr =
            std::min(response_bound_.fine(masks_.heavy(signature[0]), masks_.light(signature[0])), left.eighth);
        const float share = std::min(std::sqrt(s_c) * context.reciprocal * kUp, 1.0f) * inverse_query_norm_;
        const float wider = has_wider(response) ? std::min(wider_bound(response), left.wider) : 0;
        return ((s_c + s_cr) * share + wider) * kUp + bonus >= left.enough;
    }

    float wider_bound(std::uint32_t response) const {
        const std::uint64_t signature = segment_.signature[response - 2];
        return wider_bound_.fine(previous_masks_.heavy(signature), previous_masks_.light(signature));
    }

    // The words' weights that a row shares, added in term order; the words it has not add an exact 0.
    double shared(std::uint32_t row, const std::vector<std::uint8_t>& slot, const double* weight) {
        const std::size_t start = segment_.row[row].first, end = segment_.row[row + 1].first;
        if (end > segment_.terms) {
            sound_ = false;
            return 0;
        }
        double sum = 0;
        for (std::size_t p = start; p < end; ++p) sum += weight[slot[term_[p] & slot_mask()]];
        return sum;
    }

    // The tables of slots have a power of two entries, so that no term number of a damaged file leaves them.
    std::size_t slot_mask() const { return scratch_.slot.size() - 1; }

    // The exact score. The order of operations is that of the definition: the last bit depends on it.
    void score(std::uint32_t response) {
        if (!segment_.dead.empty() && segment_.dead[response]) return;
        if (segment_.opens[response]) {
            sound_ = false;
            return;
        }
        const double s_c = shared(response - 1, scratch_.slot, context_weight_);
        const double norms = parameters_.query_norm * segment_.norm[response - 1];
        const double root = std::sqrt(s_c);
        const double bonus = in_topic(response) ? bonus_ : 0;
        const bool wider = has_wider(response);
        if (top_.full()) {
            const std::uint64_t signature = segment_.signature[response];
            const double s_cr = response_bound_.fine(masks_.heavy(signature), masks_.light(signature));
            const double most = (s_c > 0 ? (s_c + s_cr) * root / norms : 0) + (wider ? wider_bound(response) : 0) + bonus;
            if (most * kSlack < top_.threshold()) return;
        }
        double score = 0;
        if (s_c > 0) {
            const double s_cr = shared(response, scratch_.slot, response_weight_);
            score = ((s_c + s_cr) * root) / norms;
        }
        if (wider) score += parameters_.lam * shared(response - 2, scratch_.previous_slot, wider_weight_);
        if (!(score > 0)) return;
        score += bonus;
        top_.offer(score, segment_, response);
    }

    const Segment& segment_;
    const SegmentQuery& query_;
    const Parameters& parameters_;
    TopK& top_;
    Scratch& scratch_;
    const Term* term_;
    const double bonus_;
    bool sound_ = true;

    double context_weight_[kMostWords + 1], response_weight_[kMostWords + 1], wider_weight_[kMostWords + 1];
    std::vector<QueryWord> context_order_, previous_order_;
    double sixth_left_[kMostWords + 1], eighth_left_[kMostWords + 1], second_left_[kMostWords + 1];
    std::size_t context_read_ = 0, response_read_ = 0, previous_read_ = 0;

    SignatureBound masks_, previous_masks_;
    SharedBound context_bound_, response_bound_, wider_bound_;
    Picker second_picker_;
    SumTable second_table_, context_root_;
    float inverse_query_norm_ = 0;
};

bool search_segment(const Segment& segment, const SegmentQuery& query, const Parameters& parameters, TopK& top,
                    Scratch& scratch) {
    if (segment.wide_terms) return SegmentSearch<std::uint32_t>(segment, query, parameters, top, scratch).run();
    return SegmentSearch<std::uint16_t>(segment, query, parameters, top, scratch).run();
}

}  // namespace TERTULIA_VARIANT
}  // namespace tertulia

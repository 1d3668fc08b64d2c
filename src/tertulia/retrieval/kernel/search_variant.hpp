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
// From this length a list is worth the time that new tables of bounds take.
constexpr std::uint32_t kLongList = 512;

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
        fill_wider_bound();
        inverse_query_norm_ = parameters.query_norm > 0 ? static_cast<float>(1 / parameters.query_norm) * kUp : 0;
    }

    ~SegmentSearch() {
        for (const QueryWord& word : query_.words) scratch_.slot[word.word] = 0;
        for (const QueryWord& word : query_.previous) scratch_.previous_slot[word.word] = 0;
    }

    SegmentSearch(const SegmentSearch&) = delete;
    SegmentSearch& operator=(const SegmentSearch&) = delete;

    bool run() {
        while (!context_.done() || !wider_.done()) {
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

    // Lists in the order in which they are read: first those that weigh much for their length. A word can be rare in
    // general, and so heavy, and common in this bank; its long list comes late, where the norms soon end it.
    void order_lists() {
        const auto context_length = [this](std::uint32_t word) { return segment_.context.length(word); };
        const auto response_length = [this](std::uint32_t word) { return segment_.response.length(word); };
        context_.order(query_.words, &QueryWord::sixth, context_length);
        response_.order(query_.words, &QueryWord::eighth, response_length);
        wider_.order(query_.previous, &QueryWord::second, context_length);
    }

    // The lists of one kind: the words in the order of reading, and what each and all after it weigh together.
    struct Reading {
        std::vector<QueryWord> words;
        std::vector<double> weight_left;
        std::size_t read = 0;

        template <class Length>
        void order(const std::vector<QueryWord>& all, double QueryWord::*weight, Length length) {
            words = all;
            const auto value = [&](const QueryWord& word) { return word.*weight / (length(word.word) + kListCost); };
            std::sort(words.begin(), words.end(), [&](const QueryWord& a, const QueryWord& b) {
                const double x = value(a), y = value(b);
                return x != y ? x > y : a.word < b.word;
            });
            weight_left.assign(words.size() + 1, 0);
            for (std::size_t i = words.size(); i-- > 0;) weight_left[i] = weight_left[i + 1] + words[i].*weight;
        }
        bool done() const { return read == words.size(); }
        double left() const { return weight_left[read]; }
        std::uint32_t next() const { return words[read].word; }
    };

    // Bounds by signature on what responses share that were not met yet: of words whose lists have not been read.
    void fill_bounds() {
        BitMass sixth, eighth, second;
        double in_no_bit = 0;
        for (std::size_t i = context_.read; i < context_.words.size(); ++i) {
            const QueryWord& word = context_.words[i];
            const std::uint8_t bit = segment_.word_bit[word.word];
            sixth.add(bit, word.sixth);
            const int other = second_bit(bit, word.word);
            if (other < 0) {
                in_no_bit += word.sixth;
            } else {
                second.add(other, word.sixth);
            }
        }
        for (std::size_t i = response_.read; i < response_.words.size(); ++i) {
            eighth.add(segment_.word_bit[response_.words[i].word], response_.words[i].eighth);
        }
        context_bound_.fill(sixth);
        response_bound_.fill(eighth);
        const std::uint64_t mask = second.heaviest(second.used);
        second_bound_.fill(second, mask, in_no_bit + second.total(second.used & ~mask));
        filled_at_ = context_.read + response_.read;
    }

    void fill_wider_bound() {
        BitMass mass;
        for (const QueryWord& word : query_.previous) {
            mass.add(segment_.word_bit[word.word], parameters_.lam * word.second);
        }
        wider_bound_.fill(mass);
    }

    // Before a long list the bounds are made anew if lists were read since: fewer words, lower bounds.
    void refill_bounds(std::uint32_t length) {
        if (length >= kLongList && filled_at_ != context_.read + response_.read) fill_bounds();
    }

    // ---------------------------------------------------------------- bounds on responses not met yet

    double wider_rest() const { return parameters_.lam * wider_.left(); }
    double matching_rest() const {
        return context_.done() ? 0 : (context_.left() + response_.left()) / parameters_.query_norm;
    }

    // The same where ‖c³‖ is at least `norm`.
    double matching_rest(double norm) const {
        const double a = context_.left(), both = a + response_.left();
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
        if (!context_.done()) {
            const QueryWord& word = context_.words[context_.read];
            consider(kContext, word.sixth / parameters_.query_norm, segment_.context.length(word.word));
            if (top_.full() && !response_.done()) {
                const QueryWord& other = response_.words[response_.read];
                consider(kResponse, other.eighth / parameters_.query_norm, segment_.response.length(other.word));
            }
        }
        if (!wider_.done() && (top_.full() || context_.done())) {
            const QueryWord& word = wider_.words[wider_.read];
            consider(kWider, parameters_.lam * word.second, segment_.context.length(word.word));
        }
        return kind;
    }

    // ---------------------------------------------------------------- lists

    void read_context_list() {
        refill_bounds(segment_.context.length(context_.next()));
        read_by_norm(segment_.context, context_.next(), 1);
        ++context_.read;
    }

    void read_response_list() {
        refill_bounds(segment_.response.length(response_.next()));
        read_by_norm(segment_.response, response_.next(), 0);
        ++response_.read;
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
        const std::uint32_t word = wider_.next();
        const std::uint32_t begin = segment_.context.first[word], end = segment_.context.first[word + 1];
        const float* most = segment_.context_most + segment_.context.block[word];
        const double matching = matching_rest(), left = wider_.left();
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
        ++wider_.read;
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
        // Not infinite: nothing shared must stay nothing when it is multiplied.
        const float most_share = least > 0 ? kUp / least : std::numeric_limits<float>::max();
        count = keep(responses, count, [&](std::uint32_t response) {
            const float s_c = std::min(context_bound_(segment_.signature[response - 1]), left.sixth);
            const float share = std::min(std::sqrt(s_c) * most_share, 1.0f) * inverse_query_norm_;
            const float enough = left.enough - bonus_of(response);
            if (((s_c + left.eighth) * share + left.wider) * kUp < enough) return false;
            const float s_cr = std::min(response_bound_(segment_.signature[response]), left.eighth);
            return ((s_c + s_cr) * share + left.wider) * kUp >= enough;
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
            : sixth(static_cast<float>(search.context_.left()) * kUp),
              eighth(static_cast<float>(search.response_.left()) * kUp),
              wider(static_cast<float>(search.wider_rest()) * kUp),
              enough(static_cast<float>(search.top_.threshold()) * kDown) {}
        float sixth, eighth, wider, enough;
    };

    // Whether a response can reach the k-th score, by its signatures; rows met before were scored then.
    bool may_reach(std::uint32_t response, const Left& left) const {
        const Row& context = segment_.row[response - 1];
        const float bonus = bonus_of(response);
        float s_c = std::min(context_bound_(segment_.signature[response - 1]), left.sixth);
        s_c = std::min(s_c, second_bound_(context.second));
        const float s_cr = std::min(response_bound_(segment_.signature[response]), left.eighth);
        const float share = std::min(std::sqrt(s_c) * context.reciprocal * kUp, 1.0f) * inverse_query_norm_;
        const float wider = has_wider(response) ? std::min(wider_bound(response), left.wider) : 0;
        return ((s_c + s_cr) * share + wider) * kUp + bonus >= left.enough;
    }

    float wider_bound(std::uint32_t response) const { return wider_bound_(segment_.signature[response - 2]); }

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
            const double s_cr = response_bound_(segment_.signature[response]);
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
    Reading context_, response_, wider_;
    SharedBound context_bound_, response_bound_, wider_bound_;
    SumTable second_bound_;
    std::size_t filled_at_ = 0;
    float inverse_query_norm_ = 0;
};

bool search_segment(const Segment& segment, const SegmentQuery& query, const Parameters& parameters, TopK& top,
                    Scratch& scratch) {
    if (segment.wide_terms) return SegmentSearch<std::uint32_t>(segment, query, parameters, top, scratch).run();
    return SegmentSearch<std::uint16_t>(segment, query, parameters, top, scratch).run();
}

}  // namespace TERTULIA_VARIANT
}  // namespace tertulia

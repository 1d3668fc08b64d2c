// Upper bounds on what a row shares with the query, from its signatures alone. Included once for each processor variant.
//
// A signature has one bit for each word of a row, and several words share a bit: where a bit that a query word has is not
// set, the row has not that word. The heaviest eight bits of the query are looked up in one table of 256 sums, the next
// eight in another, and the words on all other bits, the lightest, are taken as shared. Bounds are 32-bit floats and rounded up: kUp is
// far above the error of any sum or product here, so that no bound is ever below the float64 value that it bounds.

namespace tertulia {
namespace TERTULIA_VARIANT {

constexpr float kUp = 1 + 4e-6f;
constexpr float kDown = 1 - 4e-6f;
constexpr int kBits = 64;
constexpr int kPicked = 8;
constexpr std::uint8_t kCommonBits = 16;  // as in layout.py

// Brings the bits of a mask together at the low end.
class Picker {
public:
    Picker() = default;
#ifdef TERTULIA_USE_BMI2
    explicit Picker(std::uint64_t mask) : mask_(mask) {}
    unsigned operator()(std::uint64_t bits) const { return static_cast<unsigned>(_pext_u64(bits, mask_)); }

private:
    std::uint64_t mask_ = 0;
#else
    explicit Picker(std::uint64_t mask) {
        for (int bit = 0; bit < kBits; ++bit) {
            if (mask >> bit & 1) place_[count_++] = static_cast<std::uint8_t>(bit);
        }
    }
    unsigned operator()(std::uint64_t bits) const {
        unsigned picked = 0;
        for (int i = 0; i < count_; ++i) picked |= static_cast<unsigned>(bits >> place_[i] & 1) << i;
        return picked;
    }

private:
    std::uint8_t place_[kPicked] = {};
    int count_ = 0;
#endif
};

inline int lowest_bit(std::uint64_t bits) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(bits);
#else
    int bit = 0;
    while (!(bits >> bit & 1)) ++bit;
    return bit;
#endif
}

// What the query's words weigh on each of the 64 bits.
struct BitMass {
    double mass[kBits] = {};
    std::uint64_t used = 0;

    void add(int bit, double weight) {
        used |= std::uint64_t{1} << bit;
        mass[bit] += weight;
    }
    double total(std::uint64_t mask) const {
        double sum = 0;
        for (; mask != 0; mask &= mask - 1) sum += mass[lowest_bit(mask)];
        return sum;
    }
    // The heaviest eight bits of a mask.
    std::uint64_t heaviest(std::uint64_t mask) const {
        int bits[kBits], count = 0;
        for (std::uint64_t left = mask; left != 0; left &= left - 1) bits[count++] = lowest_bit(left);
        if (count <= kPicked) return mask;
        std::nth_element(bits, bits + kPicked, bits + count, [this](int a, int b) { return mass[a] > mass[b]; });
        std::uint64_t chosen = 0;
        for (int i = 0; i < kPicked; ++i) chosen |= std::uint64_t{1} << bits[i];
        return chosen;
    }
};

// For each subset of a mask of at most eight bits, the mass on it and `base`.
class SumTable {
public:
    void fill(const BitMass& mass, std::uint64_t mask, double base) {
        picker_ = Picker(mask);
        sum_[0] = static_cast<float>(base) * kUp;
        int size = 1;
        for (; mask != 0; mask &= mask - 1) {
            const float weight = static_cast<float>(mass.mass[lowest_bit(mask)]) * kUp;
            for (int i = 0; i < size; ++i) sum_[size + i] = sum_[i] + weight;
            size *= 2;
        }
    }
    float operator()(std::uint64_t bits) const { return sum_[picker_(bits)]; }

private:
    Picker picker_;
    float sum_[1 << kPicked];
};

// What a row with a signature can share, at most.
class SharedBound {
public:
    void fill(const BitMass& mass) {
        const std::uint64_t heavy = mass.heaviest(mass.used), light = mass.heaviest(mass.used & ~heavy);
        heavy_.fill(mass, heavy, mass.total(mass.used & ~heavy & ~light));
        light_.fill(mass, light, 0);
    }
    float operator()(std::uint64_t signature) const { return heavy_(signature) + light_(signature); }

private:
    SumTable heavy_, light_;
};

// The bit of a word in the second signature, or -1 for a common word, which has none; as in layout.py.
inline int second_bit(std::uint8_t first_bit, std::uint32_t word) {
    if (first_bit < kCommonBits) return -1;
    return static_cast<int>((word * 0x85EBCA6Bu >> 15) % kBits);
}

}  // namespace TERTULIA_VARIANT
}  // namespace tertulia

// Growing memory in one piece, which Python takes over at the end without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace tertulia {

// Whoever writes a value sixteen bytes at a time may write so many bytes behind its end.
constexpr std::size_t kSlack = 32;

class Memory {
  public:
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    Memory(Memory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}
    ~Memory() { std::free(data_); }

    std::uint8_t* data() { return data_; }
    const std::uint8_t* data() const { return data_; }
    std::uint8_t* end() { return data_ + size_; }
    std::size_t size() const { return size_; }

    // Makes room for `more` bytes behind the end, and for the slack behind these.
    void reserve(std::size_t more) {
        if (capacity_ - size_ < more + kSlack) grow(more + kSlack);
    }
    // Bytes that were written behind the end become part of it; there must be room for them.
    void advance(std::size_t bytes) { size_ += bytes; }

    template <typename T>
    void push(T value) {
        reserve(sizeof value);
        std::memcpy(data_ + size_, &value, sizeof value);
        size_ += sizeof value;
    }

    // Appends the bit of this index; indices come one after the other, from 0.
    void push_bit(std::size_t index, bool bit) {
        if (index % 8 == 0) push<std::uint8_t>(0);
        data_[index / 8] = static_cast<std::uint8_t>(data_[index / 8] | (bit ? 1U << (index % 8) : 0U));
    }

  private:
    void grow(std::size_t more) {
        std::size_t wanted = capacity_ < 4096 ? 4096 : capacity_ * 2;
        if (wanted - size_ < more) wanted = size_ + more;
        void* moved = std::realloc(data_, wanted);
        if (moved == nullptr) throw std::bad_alloc();
        data_ = static_cast<std::uint8_t*>(moved);
        capacity_ = wanted;
    }

    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace tertulia

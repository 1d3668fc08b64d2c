// A buffer of a Python object that is released when it goes.
#pragma once

#include "python.hpp"

#include <cstddef>

namespace tertulia {

// A borrowed, contiguous buffer.
class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (held_) PyBuffer_Release(&view_);
    }

    bool take(PyObject* object, int flags = PyBUF_SIMPLE) {
        held_ = PyObject_GetBuffer(object, &view_, flags) == 0;
        return held_;
    }
    template <class T>
    T* as() const { return static_cast<T*>(view_.buf); }
    template <class T>
    std::size_t count() const { return static_cast<std::size_t>(view_.len) / sizeof(T); }

private:
    Py_buffer view_{};
    bool held_ = false;
};

}  // namespace tertulia

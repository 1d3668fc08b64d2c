// Python's header, with what must be said before it, and a buffer that is released when it goes.
#pragma once

// Only the limited API of Python 3.11 is used, so one build serves every later version.
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

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

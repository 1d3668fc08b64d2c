// The Python type `Vocabulary`: texts or lists of words in, the numbers of their words and their counts out.
#include "vocabulary_object.hpp"

#include <new>
#include <string>
#include <string_view>

#include "vocabulary.hpp"

namespace tertulia {
namespace {

struct VocabularyObject {
    PyObject_HEAD
    Vocabulary* vocabulary;
    std::string* buffer;
};

VocabularyObject* object_of(PyObject* self) { return reinterpret_cast<VocabularyObject*>(self); }

bool utf8(PyObject* text, std::string_view& view) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == nullptr) return false;
    view = {data, static_cast<std::size_t>(size)};
    return true;
}

// (words of the text, numbers of the distinct ones as bytes, their counts as bytes)
PyObject* answer(const Vocabulary& vocabulary) {
    const auto bytes = static_cast<Py_ssize_t>(vocabulary.words.size() * sizeof(std::uint32_t));
    return Py_BuildValue("(Ky#y#)", static_cast<unsigned long long>(vocabulary.length),
                         reinterpret_cast<const char*>(vocabulary.words.data()), bytes,
                         reinterpret_cast<const char*>(vocabulary.counts.data()), bytes);
}

PyObject* count_english(PyObject* self, PyObject* args) {
    PyObject* text = nullptr;
    int adds = 0;
    if (!PyArg_ParseTuple(args, "Up", &text, &adds)) return nullptr;
    std::string_view view;
    if (!utf8(text, view)) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return nullptr;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    Vocabulary& vocabulary = *object_of(self)->vocabulary;
    vocabulary.begin(adds != 0);
    if (!take_english(view, *object_of(self)->buffer, vocabulary)) Py_RETURN_NONE;
    return answer(vocabulary);
}

PyObject* count_words(PyObject* self, PyObject* args) {
    PyObject* list = nullptr;
    int adds = 0;
    if (!PyArg_ParseTuple(args, "O!p", &PyList_Type, &list, &adds)) return nullptr;
    Vocabulary& vocabulary = *object_of(self)->vocabulary;
    vocabulary.begin(adds != 0);
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
        std::string_view word;
        if (!utf8(PyList_GetItem(list, i), word)) return nullptr;
        vocabulary.take(word);
    }
    return answer(vocabulary);
}

// Functions that may allocate give memory errors to Python instead of ending the process.
template <PyObject* (*Function)(PyObject*, PyObject*)>
PyObject* guarded(PyObject* self, PyObject* args) {
    try {
        return Function(self, args);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyObject* vocabulary_new(PyTypeObject* type, PyObject*, PyObject*) {
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* self = allocate(type, 0);
    if (self == nullptr) return nullptr;
    try {
        object_of(self)->vocabulary = new Vocabulary();
        object_of(self)->buffer = new std::string();
    } catch (const std::bad_alloc&) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return self;
}

void vocabulary_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    delete object_of(self)->vocabulary;
    delete object_of(self)->buffer;
    const auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    release(self);
    Py_DECREF(reinterpret_cast<PyObject*>(type));
}

Py_ssize_t vocabulary_length(PyObject* self) { return static_cast<Py_ssize_t>(object_of(self)->vocabulary->size()); }

PyMethodDef methods[] = {
    {"count_english", guarded<count_english>, METH_VARARGS, nullptr},
    {"count_words", guarded<count_words>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(vocabulary_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(vocabulary_dealloc)},
    {Py_tp_methods, methods},
    {Py_mp_length, reinterpret_cast<void*>(vocabulary_length)},
    {0, nullptr},
};

PyType_Spec spec = {
    "tertulia.retrieval._bm25.Vocabulary", sizeof(VocabularyObject), 0, Py_TPFLAGS_DEFAULT, slots,
};

}  // namespace

PyObject* make_vocabulary_type() { return PyType_FromSpec(&spec); }

}  // namespace tertulia

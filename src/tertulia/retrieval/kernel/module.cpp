// The Python side: the type `Searcher`, which holds the segments of one commit and answers queries about them.
#include "python.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "open_segment.hpp"
#include "search.hpp"
#include "words.hpp"

namespace {

using tertulia::Buffer;
using tertulia::Hit;
using tertulia::OpenSegment;
using tertulia::Segment;

// ---------------------------------------------------------------- queries

struct Variant {
    const char* name;
    tertulia::SearchFunction search;
};

std::vector<Variant> runnable_variants() {
    std::vector<Variant> variants;
#ifdef TERTULIA_HAS_AVX2_VARIANT
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        variants.push_back({"avx2", tertulia::avx2::search_segment});
    }
#endif
    variants.push_back({"baseline", tertulia::baseline::search_segment});
    return variants;
}

struct Searcher {
    std::vector<std::unique_ptr<OpenSegment>> segments;
    tertulia::SearchFunction search = nullptr;
    double unknown = 0;  // the weight to the power 6 of a word that no utterance of the bank has
    PyObject* match_type = nullptr;

    ~Searcher() { Py_XDECREF(match_type); }
};

enum class Outcome { kFound, kNotForUs, kDamaged };

struct Request {
    std::size_t k = 0;
    double bonus = 0, lam = 0;
    const std::uint32_t* topic_rows = nullptr;  // a start and an end for each segment, or none
};

using Words = std::vector<std::string_view>;

tertulia::QueryWord query_word(const Segment& segment, std::uint32_t word) {
    const double weight = segment.weight[word], second = weight * weight, fourth = second * second;
    return {word, second, fourth * second, fourth * fourth};
}

// Makes room for the words of the largest segment: a power of two, as SegmentSearch needs it.
void grow(tertulia::Scratch& scratch, std::size_t words) {
    std::size_t size = std::max<std::size_t>(scratch.slot.size(), 1);
    while (size < words) size *= 2;
    scratch.slot.resize(size, 0);
    scratch.previous_slot.resize(size, 0);
}

Outcome search(const Searcher& searcher, const Words& words, const Words& previous, const Request& request,
               std::vector<Hit>& hits) {
    static thread_local tertulia::Scratch scratch;
    const std::size_t count = searcher.segments.size();
    std::vector<tertulia::SegmentQuery> queries(count);
    double total = 0;
    for (const std::string_view& word : words) {
        double sixth = searcher.unknown;
        bool known = false;
        for (std::size_t i = 0; i < count; ++i) {
            const Segment& segment = searcher.segments[i]->segment;
            const std::int64_t found = segment.find(word);
            if (found < 0) continue;
            queries[i].words.push_back(query_word(segment, static_cast<std::uint32_t>(found)));
            if (!known) sixth = queries[i].words.back().sixth;
            known = true;
        }
        total += sixth;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Segment& segment = searcher.segments[i]->segment;
        for (const std::string_view& word : previous) {
            const std::int64_t found = segment.find(word);
            if (found >= 0) queries[i].previous.push_back(query_word(segment, static_cast<std::uint32_t>(found)));
        }
        if (queries[i].words.size() > tertulia::kMostWords || queries[i].previous.size() > tertulia::kMostWords) {
            return Outcome::kNotForUs;
        }
        if (request.topic_rows != nullptr) {
            queries[i].topic_start = request.topic_rows[2 * i];
            queries[i].topic_end = request.topic_rows[2 * i + 1];
        }
        grow(scratch, segment.words);
    }
    const tertulia::Parameters parameters{std::sqrt(total), request.bonus, request.lam};
    tertulia::TopK top(request.k);
    bool sound = true;
    for (std::size_t i = 0; i < count; ++i) {
        sound &= searcher.search(searcher.segments[i]->segment, queries[i], parameters, top, scratch);
    }
    if (!sound) return Outcome::kDamaged;
    hits = std::move(top.hits());
    for (Hit& hit : hits) hit.look_up();
    return Outcome::kFound;
}

// ---------------------------------------------------------------- answers

// `Match` is a named tuple; calling its type's slot skips the Python function that checks and names the fields.
PyObject* make_match(PyObject* match_type, const Hit& hit) {
    static const newfunc new_tuple = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
    PyObject* fields = Py_BuildValue("((Ldd))", static_cast<long long>(hit.number), hit.score, hit.norm);
    if (fields == nullptr) return nullptr;
    PyObject* match = new_tuple(reinterpret_cast<PyTypeObject*>(match_type), fields, nullptr);
    Py_DECREF(fields);
    return match;
}

PyObject* make_answer(PyObject* match_type, Outcome outcome, const std::vector<Hit>& hits) {
    if (outcome == Outcome::kNotForUs) Py_RETURN_NONE;
    if (outcome == Outcome::kDamaged) {
        PyErr_SetString(PyExc_ValueError, "a list names what its segment has not");
        return nullptr;
    }
    PyObject* answer = PyList_New(static_cast<Py_ssize_t>(hits.size()));
    if (answer == nullptr) return nullptr;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        PyObject* match = make_match(match_type, hits[i]);
        if (match == nullptr || PyList_SetItem(answer, static_cast<Py_ssize_t>(i), match) != 0) {
            Py_DECREF(answer);
            return nullptr;
        }
    }
    return answer;
}

// k, topic rows (a buffer of 32-bit pairs, or None), bonus, lam: the arguments after the two texts.
bool parse_request(const Searcher& searcher, PyObject* const* args, Buffer& topic, Request& request) {
    const long long k = PyLong_AsLongLong(args[0]);
    request.bonus = PyFloat_AsDouble(args[2]);
    request.lam = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return false;
    request.k = k < 1 ? 0 : static_cast<std::size_t>(k);
    if (args[1] != Py_None) {
        if (!topic.take(args[1])) return false;
        if (topic.count<std::uint32_t>() != 2 * searcher.segments.size()) {
            PyErr_SetString(PyExc_ValueError, "two row numbers for each segment are needed");
            return false;
        }
        request.topic_rows = topic.as<std::uint32_t>();
    }
    return true;
}

// Searches without the interpreter's lock, so that other threads run meanwhile.
PyObject* answer(const Searcher& searcher, const Words& words, const Words& previous, const Request& request) {
    std::vector<Hit> hits;
    Outcome outcome = Outcome::kNotForUs;
    bool memory = true;
    Py_BEGIN_ALLOW_THREADS
    try {
        outcome = search(searcher, words, previous, request, hits);
    } catch (const std::bad_alloc&) {
        memory = false;
    }
    Py_END_ALLOW_THREADS
    if (!memory) return PyErr_NoMemory();
    return make_answer(searcher.match_type, outcome, hits);
}

// ---------------------------------------------------------------- the type

struct SearcherObject {
    PyObject_HEAD
    Searcher* searcher;
};

Searcher& searcher_of(PyObject* self) { return *reinterpret_cast<SearcherObject*>(self)->searcher; }

PyObject* searcher_new(PyTypeObject* type, PyObject* args, PyObject*) {
    const char* variant = nullptr;
    double unknown = 0;
    PyObject *match_type = nullptr, *segments = nullptr;
    if (!PyArg_ParseTuple(args, "sdOO!", &variant, &unknown, &match_type, &PyTuple_Type, &segments)) return nullptr;
    auto searcher = std::make_unique<Searcher>();
    for (const Variant& known : runnable_variants()) {
        if (std::string_view(known.name) == variant) searcher->search = known.search;
    }
    if (searcher->search == nullptr) {
        PyErr_Format(PyExc_ValueError, "there is no variant %s for this processor", variant);
        return nullptr;
    }
    if (!PyType_Check(match_type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(match_type), &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of a match is a tuple");
        return nullptr;
    }
    Py_INCREF(match_type);
    searcher->match_type = match_type;
    searcher->unknown = unknown;
    for (Py_ssize_t i = 0; i < PyTuple_Size(segments); ++i) {
        searcher->segments.push_back(std::make_unique<OpenSegment>());
        if (!open_segment(PyTuple_GetItem(segments, i), *searcher->segments.back())) return nullptr;
    }
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* self = allocate(type, 0);
    if (self != nullptr) reinterpret_cast<SearcherObject*>(self)->searcher = searcher.release();
    return self;
}

void searcher_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    delete reinterpret_cast<SearcherObject*>(self)->searcher;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

// The text as UTF-8, or nothing, with no error left, where it has none (lone surrogates).
bool utf8(PyObject* text, std::string_view& out) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == nullptr) return false;
    out = std::string_view(data, static_cast<std::size_t>(size));
    return true;
}

// What both searches take after their two texts; `usage` is what to say where the arguments are not as many.
bool parse_arguments(const Searcher& searcher, PyObject* const* args, Py_ssize_t count, const char* usage, Buffer& topic,
                     Request& request) {
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, usage);
        return false;
    }
    return parse_request(searcher, args + 2, topic, request);
}

PyObject* searcher_search(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    const Searcher& searcher = searcher_of(self);
    Buffer topic;
    Request request;
    if (!parse_arguments(searcher, args, count, "search takes text, previous, k, topic rows, bonus, lam", topic, request)) return nullptr;
    if (request.k == 0 || request.k > tertulia::kMostResponses) Py_RETURN_NONE;
    std::string_view text, previous;
    if (!utf8(args[0], text) || !utf8(args[1], previous)) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return nullptr;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    std::string text_buffer, previous_buffer;
    Words words, previous_words;
    if (!tertulia::ascii_words(text, text_buffer, words) ||
        !tertulia::ascii_words(previous, previous_buffer, previous_words)) {
        Py_RETURN_NONE;
    }
    return answer(searcher, words, previous_words, request);
}

// Views of a list of bytes, which the caller keeps alive.
bool views_of(PyObject* list, Words& words) {
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "words are a list of bytes");
        return false;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
        char* data = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &data, &size) != 0) return false;
        words.emplace_back(data, static_cast<std::size_t>(size));
    }
    return true;
}

PyObject* searcher_search_words(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    const Searcher& searcher = searcher_of(self);
    Buffer topic;
    Request request;
    if (!parse_arguments(searcher, args, count, "search_words takes words, previous words, k, topic rows, bonus, lam", topic, request)) return nullptr;
    if (request.k == 0 || request.k > tertulia::kMostResponses) Py_RETURN_NONE;
    Words words, previous;
    if (!views_of(args[0], words) || !views_of(args[1], previous)) return nullptr;
    return answer(searcher, words, previous, request);
}

// Functions that may allocate give memory errors to Python instead of ending the process.
template <PyObject* (*Function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyObject* guarded(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    try {
        return Function(self, args, count);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyObject* guarded_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    try {
        return searcher_new(type, args, keywords);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

template <PyObject* (*Function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyCFunction fast() {
    // The interpreter calls it with the arguments that METH_FASTCALL promises.
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(guarded<Function>));
}

PyObject* variants(PyObject*, PyObject*) {
    const std::vector<Variant> all = runnable_variants();
    PyObject* names = PyTuple_New(static_cast<Py_ssize_t>(all.size()));
    for (std::size_t i = 0; names != nullptr && i < all.size(); ++i) {
        PyTuple_SetItem(names, static_cast<Py_ssize_t>(i), PyUnicode_FromString(all[i].name));
    }
    return names;
}

PyObject* tokenise(PyObject*, PyObject* text) {
    std::string_view bytes;
    if (!utf8(text, bytes)) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return nullptr;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    try {
        std::string buffer;
        Words words;
        if (!tertulia::ascii_words(bytes, buffer, words)) Py_RETURN_NONE;
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(words.size()));
        for (std::size_t i = 0; list != nullptr && i < words.size(); ++i) {
            PyObject* word = PyUnicode_FromStringAndSize(words[i].data(), static_cast<Py_ssize_t>(words[i].size()));
            if (word == nullptr) {
                Py_DECREF(list);
                return nullptr;
            }
            PyList_SetItem(list, static_cast<Py_ssize_t>(i), word);
        }
        return list;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyMethodDef searcher_methods[] = {
    {"search", fast<searcher_search>(), METH_FASTCALL, nullptr},
    {"search_words", fast<searcher_search_words>(), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot searcher_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(guarded_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(searcher_dealloc)},
    {Py_tp_methods, searcher_methods},
    {0, nullptr},
};

PyType_Spec searcher_spec = {
    "tertulia.retrieval._kernel.Searcher", sizeof(SearcherObject), 0, Py_TPFLAGS_DEFAULT, searcher_slots,
};

PyMethodDef module_methods[] = {
    {"variants", variants, METH_NOARGS, nullptr},
    {"distinct_ascii_words", tokenise, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

int fill_module(PyObject* module) {
    PyObject* type = PyType_FromSpec(&searcher_spec);
    if (type == nullptr) return -1;
    const int result = PyModule_AddObjectRef(module, "Searcher", type);
    Py_DECREF(type);
    return result;
}

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(fill_module)},
    {0, nullptr},
};

PyModuleDef kernel_module = {
    PyModuleDef_HEAD_INIT, "tertulia.retrieval._kernel", nullptr, 0, module_methods, module_slots, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__kernel() { return PyModuleDef_Init(&kernel_module); }

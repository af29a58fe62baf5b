// prometheus-cpp behind base/metrics.h; the only file that includes it.
#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <mutex>

#include "base/check.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxSeries = 10'000;  // per family
constexpr std::string_view kOther = "other";

prometheus::Labels to_labels(Labels labels) {
    prometheus::Labels out;
    for (const auto& [name, value] : labels) {
        out.emplace(name, value);
    }
    TG_CHECK(out.size() == labels.size(), "a metric label is given twice");
    return out;
}

prometheus::Labels all_other(prometheus::Labels labels) {
    for (auto& [name, value] : labels) {
        value = kOther;
    }
    return labels;
}

// The families of one type. Not thread-safe: Metrics::Impl's mutex guards it.
template <class T>
struct Families {
    struct Entry {
        prometheus::Family<T>* family = nullptr;  // owned by the registry
        std::size_t series = 0;
    };
    std::map<std::string, Entry, std::less<>> entries;
};

template <class T>
const T* as(const void* impl) {
    return static_cast<const T*>(impl);
}
template <class T>
T* as(void* impl) {
    return static_cast<T*>(impl);
}

}  // namespace

struct Metrics::Impl {
    // Finds or makes the series; `args` go to the metric's constructor. prometheus-cpp throws on
    // a bad name or on a name used for two types: both are programmer's errors here.
    template <class T, class Build, class... Args>
    T* series(Families<T>& families, Build build, std::string_view name, std::string_view help,
              Labels labels, const Args&... args) {
        const std::scoped_lock lock(mutex);
        try {
            auto at = families.entries.find(name);
            if (at == families.entries.end()) {
                const std::string key(name);
                auto& family = build().Name(key).Help(std::string(help)).Register(registry);
                at = families.entries.emplace(key, typename Families<T>::Entry{&family, 0}).first;
            }
            auto& entry = at->second;
            prometheus::Labels wanted = to_labels(labels);
            if (!entry.family->Has(wanted)) {
                wanted = entry.series < kMaxSeries ? wanted : all_other(wanted);
                ++entry.series;
            }
            return &entry.family->Add(wanted, args...);
        } catch (const std::exception& e) {
            TG_CHECK(false, e.what());
        }
        return nullptr;
    }

    prometheus::Registry registry;
    std::mutex mutex;  // guards the three below
    Families<prometheus::Counter> counters;
    Families<prometheus::Gauge> gauges;
    Families<prometheus::Histogram> histograms;
};

void Counter::add(double n) const noexcept {
    if (impl_ != nullptr) {
        as<prometheus::Counter>(impl_)->Increment(n);
    }
}
double Counter::value() const noexcept {
    return impl_ == nullptr ? 0.0 : as<prometheus::Counter>(impl_)->Value();
}

void Gauge::set(double v) const noexcept {
    if (impl_ != nullptr) {
        as<prometheus::Gauge>(impl_)->Set(v);
    }
}
void Gauge::add(double n) const noexcept {
    if (impl_ != nullptr) {
        as<prometheus::Gauge>(impl_)->Increment(n);
    }
}
double Gauge::value() const noexcept {
    return impl_ == nullptr ? 0.0 : as<prometheus::Gauge>(impl_)->Value();
}

void Histogram::observe(double v) const noexcept {
    if (impl_ != nullptr) {
        as<prometheus::Histogram>(impl_)->Observe(v);
    }
}

const std::vector<double>& latency_buckets() {
    static const std::vector<double> bounds{0.00005, 0.0001, 0.0002, 0.0005, 0.001,
                                            0.002,   0.005,  0.01,   0.015,  0.02,
                                            0.05,    0.1,    0.2,    0.5,    1.0};
    return bounds;
}

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(std::string_view name, std::string_view help, Labels labels) {
    Counter out;
    out.impl_ = impl_->series(impl_->counters, &prometheus::BuildCounter, name, help, labels);
    return out;
}

Gauge Metrics::gauge(std::string_view name, std::string_view help, Labels labels) {
    Gauge out;
    out.impl_ = impl_->series(impl_->gauges, &prometheus::BuildGauge, name, help, labels);
    return out;
}

Histogram Metrics::histogram(std::string_view name, std::string_view help, Labels labels,
                             const std::vector<double>& bounds) {
    TG_CHECK(std::is_sorted(bounds.begin(), bounds.end(), std::less_equal<>()) || bounds.size() < 2,
             "histogram bounds must increase");
    Histogram out;
    out.impl_ = impl_->series(impl_->histograms, &prometheus::BuildHistogram, name, help, labels,
                              prometheus::Histogram::BucketBoundaries(bounds));
    return out;
}

std::string Metrics::render() const {
    return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace tollgate

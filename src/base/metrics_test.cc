// Tests of base/metrics.h: the text that is scraped, bounds on series, no allocation when used.
#include "base/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <thread>

#include "base/testing/alloc_counter.h"

namespace tollgate {
namespace {

// Series (name with labels) to value, read from the text format.
std::map<std::string, double> scraped(const Metrics& metrics) {
    std::map<std::string, double> out;
    std::istringstream in(metrics.render());
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') {
            continue;
        }
        const std::size_t space = line.rfind(' ');
        EXPECT_TRUE(out.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second)
            << "scraped twice: " << line;
    }
    return out;
}

TEST(Metrics, HistogramIsCumulativeWithInclusiveBoundsAndInfEqualsCount) {
    Metrics metrics;
    const Histogram h = metrics.histogram("wait_seconds", "Waiting.", {}, {0.005, 0.01, 0.1, 1.0});
    for (const double v : {0.005, 0.010, 0.010, 0.2, 9.0}) {
        h.observe(v);
    }
    const auto seen = scraped(metrics);
    EXPECT_EQ(seen.at("wait_seconds_bucket{le=\"0.005\"}"), 1);
    EXPECT_EQ(seen.at("wait_seconds_bucket{le=\"0.01\"}"), 3);
    EXPECT_EQ(seen.at("wait_seconds_bucket{le=\"0.1\"}"), 3);
    EXPECT_EQ(seen.at("wait_seconds_bucket{le=\"1\"}"), 4);
    EXPECT_EQ(seen.at("wait_seconds_bucket{le=\"+Inf\"}"), 5);
    EXPECT_EQ(seen.at("wait_seconds_count"), 5);
    EXPECT_NEAR(seen.at("wait_seconds_sum"), 9.225, 1e-9);
    EXPECT_EQ(seen.size(), 7U);
}

TEST(Metrics, NamesAreScrapedAsTheyAreGiven) {
    Metrics metrics;
    metrics.counter("assessments_total", "All.", {{"tenant", "a\"b\\c\nd"}, {"lane", "fast"}})
        .add();
    metrics.counter("dropped", "Without the suffix.").add(2.5);
    metrics.gauge("queue_depth", "Now.").set(-3);
    const auto seen = scraped(metrics);
    EXPECT_EQ(seen.at("assessments_total{lane=\"fast\",tenant=\"a\\\"b\\\\c\\nd\"}"), 1);
    EXPECT_EQ(seen.at("dropped"), 2.5);
    EXPECT_EQ(seen.at("queue_depth"), -3);
    EXPECT_EQ(seen.size(), 3U);
    const std::string text = metrics.render();
    EXPECT_NE(text.find("# HELP dropped Without the suffix.\n# TYPE dropped counter\n"),
              std::string::npos);
    EXPECT_EQ(text.find("_total_total"), std::string::npos);
}

TEST(Metrics, TheSameLabelsAreTheSameSeries) {
    Metrics metrics;
    const Counter a = metrics.counter("n_total", "N.", {{"x", "1"}, {"y", "2"}});
    const Counter b = metrics.counter("n_total", "N.", {{"y", "2"}, {"x", "1"}});
    a.add(2);
    b.add(3);
    EXPECT_EQ(a.value(), 5.0);
    a.add(-1);  // a counter never falls
    EXPECT_EQ(b.value(), 5.0);
    EXPECT_EQ(scraped(metrics).size(), 1U);
}

TEST(Metrics, PastTheBoundEverySeriesIsOther) {
    Metrics metrics;
    for (int i = 0; i < 10'100; ++i) {
        metrics.counter("many_total", "Many.", {{"id", std::to_string(i)}}).add();
    }
    metrics.counter("many_total", "Many.", {{"id", "7"}}).add();
    const auto seen = scraped(metrics);
    EXPECT_EQ(seen.size(), 10'001U);
    EXPECT_EQ(seen.at("many_total{id=\"other\"}"), 100);
    EXPECT_EQ(seen.at("many_total{id=\"7\"}"), 2);
}

TEST(Metrics, UnboundHandlesIgnoreWhatIsDoneToThem) {
    Counter().add();
    Gauge().set(1);
    Histogram().observe(1);
    EXPECT_EQ(Counter().value(), 0.0);
}

TEST(Metrics, UseAllocatesNothing) {
    Metrics metrics;
    const Counter c = metrics.counter("c_total", "C.", {{"tenant", "t"}});
    const Gauge g = metrics.gauge("g", "G.");
    const Histogram h = metrics.histogram("h_seconds", "H.");
    const std::size_t before = testing::allocations();
    for (int i = 0; i < 1000; ++i) {
        c.add();
        g.set(i);
        g.add(0.5);
        h.observe(1e-5 * i);
    }
    EXPECT_EQ(testing::allocations(), before);
    EXPECT_EQ(c.value(), 1000.0);
}

TEST(Metrics, CountsFromSeveralThreadsAddUp) {
    Metrics metrics;
    const Counter c = metrics.counter("c_total", "C.");
    const Histogram h = metrics.histogram("h_seconds", "H.");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) {
                c.add();
                h.observe(0.001);
            }
            (void)metrics.render();
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(c.value(), 4000.0);
    EXPECT_EQ(scraped(metrics).at("h_seconds_count"), 4000);
}

TEST(MetricsDeathTest, ABadOrAmbiguousNameStopsTheProcess) {
    Metrics metrics;
    EXPECT_DEATH((void)metrics.counter("bad name", "B."), "check failed");
    (void)metrics.counter("twice", "T.");
    EXPECT_DEATH((void)metrics.gauge("twice", "T."), "check failed");
    EXPECT_DEATH((void)metrics.histogram("h", "H.", {}, {2.0, 1.0}), "must increase");
}

}  // namespace
}  // namespace tollgate

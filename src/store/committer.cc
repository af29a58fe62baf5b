// The commit thread: takes groups, writes each until it is written, confirms.
#include "store/committer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/threads.h"
#include "store/batch.h"
#include "store/chain.h"
#include "store/keys.h"

namespace tollgate::store {

namespace {

constexpr std::size_t kGroupCommits = 256;
constexpr std::size_t kGroupBytes = std::size_t{4} << 20U;
constexpr std::chrono::milliseconds kRetryEvery{20};

std::size_t size_of(const Commit& commit) {
    std::size_t bytes = commit.tenant.size() + commit.record.size();
    for (const Put& put : commit.puts) {
        bytes += put.key.size() + put.value.size();
    }
    return bytes;
}

double seconds(std::chrono::steady_clock::duration span) {
    return std::chrono::duration<double>(span).count();
}

}  // namespace

CommitterMetrics::CommitterMetrics(Metrics& metrics)
    : commit_seconds(metrics.histogram("tollgate_store_commit_seconds",
                                       "Time from a commit's submission to its confirmation.")),
      group_size(metrics.histogram("tollgate_store_group_size", "Commits in one write.", {},
                                   {1, 2, 4, 8, 16, 32, 64, 128, 256})),
      queue_depth(
          metrics.gauge("tollgate_store_queue_depth", "Commits accepted and not yet confirmed.")),
      failures(metrics.counter("tollgate_store_failures_total",
                               "Write attempts that failed; each is tried again.")),
      refused(metrics.counter("tollgate_store_refused_total",
                              "Commits refused because the journal was full.")) {}

Committer::Committer(Rocks& rocks, CommitSink& sink, const CloseSignal& closing, Limits limits,
                     Metrics& metrics)
    : rocks_(rocks), sink_(sink), closing_signal_(closing), limits_(limits), metrics_(metrics) {}

Committer::~Committer() {
    (void)stop();
}

void Committer::set_tail(const std::string& tenant, std::uint64_t seq, const Digest& chain) {
    const std::scoped_lock lock(mutex_);
    tails_[tenant] = Tail{.seq = seq, .chain = chain, .accepted = seq};
}

void Committer::start() {
    thread_ = std::thread([this] { run(); });
}

std::size_t Committer::stop() {
    {
        const std::scoped_lock lock(mutex_);
        closing_ = true;
    }
    work_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
    const std::scoped_lock lock(mutex_);
    return queue_.size() + in_flight_;
}

bool Committer::submit(Commit& commit) {
    TG_CHECK(commit.tenant.size() <= kMaxTenantBytes, "a tenant's name is too long");
    check_puts(commit.puts);
    const std::size_t bytes = size_of(commit);
    const auto now = Clock::now();
    {
        const std::scoped_lock lock(mutex_);
        const std::size_t queued = queue_.size() + in_flight_;
        // One commit larger than the bound passes when it is alone: refusing it would be for ever.
        if (closing_ || queued >= limits_.commits ||
            (queued > 0 && queue_bytes_ + bytes > limits_.bytes)) {
            metrics_.refused.add();
            return false;
        }
        Tail* tail = nullptr;
        if (commit.seq > 0) {
            tail = &tails_[commit.tenant];
            TG_CHECK(!tail->bulk, "a record was submitted during a write_bulk() of its tenant");
            TG_CHECK(commit.seq == tail->accepted + 1, "a record must have the next seq");
            tail->accepted = commit.seq;
        }
        queue_.push_back(
            Item{.commit = std::move(commit), .tail = tail, .at = now, .bytes = bytes});
        queue_bytes_ += bytes;
        ++submitted_;
        metrics_.queue_depth.set(static_cast<double>(queued + 1));
    }
    work_.notify_one();
    return true;
}

bool Committer::take_group(Group& group) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty() || closing_signal_.expired()) {
        return false;
    }
    in_flight_at_ = queue_.front().at;
    std::size_t bytes = 0;
    while (!queue_.empty() && group.size() < kGroupCommits) {
        const Item& next = queue_.front();
        const bool first_sync =
            next.commit.durability == Durability::kFsync &&
            (group.empty() || group.front().commit.durability != Durability::kFsync);
        if (!group.empty() && (first_sync || bytes + next.bytes > kGroupBytes)) {
            break;
        }
        bytes += next.bytes;
        group.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    in_flight_ = group.size();
    return true;
}

void Committer::add_to_batch(const Item& item, std::vector<NewEnd>& ends,
                             rocksdb::WriteBatch& batch) {
    if (item.tail != nullptr) {
        auto end = std::find_if(ends.begin(), ends.end(),
                                [&](const NewEnd& e) { return e.tail == item.tail; });
        if (end == ends.end()) {
            end = ends.insert(end, NewEnd{.tail = item.tail, .chain = item.tail->chain});
        }
        end->chain = chain_next(end->chain, item.commit.record);
        end->seq = item.commit.seq;
        append_record(rocks_, batch, item.commit.tenant,
                      {.seq = end->seq, .chain = end->chain, .record = item.commit.record});
    }
    append_puts(rocks_, batch, item.commit.tenant, item.commit.puts);
}

void Committer::note_failure(const Error& error) {
    metrics_.failures.add();
    std::size_t queued = 0;
    bool first = false;
    {
        const std::scoped_lock lock(mutex_);
        first = !failing_;
        failing_ = true;
        last_error_ = error.detail.empty() ? error.message : error.detail;
        ++failures_;
        queued = queue_.size() + in_flight_;
    }
    if (first) {
        log_event(Level::kError, "store_write_failed",
                  {{"error", std::string_view(error.detail)},
                   {"queued", static_cast<std::int64_t>(queued)}});
    }
}

bool Committer::write_until_done(rocksdb::WriteBatch& batch, bool sync) {
    for (std::int64_t attempt = 1;; ++attempt) {
        const Status written = sink_.write(batch, sync);
        if (written) {
            if (attempt > 1) {
                log_event(Level::kInfo, "store_write_recovered", {{"attempts", attempt}});
            }
            return true;
        }
        note_failure(written.error());
        if (!closing_signal_.pause(kRetryEvery)) {
            return false;
        }
    }
}

void Committer::confirm(Group& group, const std::vector<NewEnd>& ends) {
    {
        const std::scoped_lock lock(mutex_);
        for (const NewEnd& end : ends) {
            end.tail->seq = end.seq;
            end.tail->chain = end.chain;
        }
        failing_ = false;
        last_error_.clear();
        commits_ += group.size();
        ++batches_;
    }
    const auto now = Clock::now();
    std::size_t bytes = 0;
    metrics_.group_size.observe(static_cast<double>(group.size()));
    for (Item& item : group) {
        bytes += item.bytes;
        metrics_.commit_seconds.observe(seconds(now - item.at));
        if (item.commit.done) {
            item.commit.done();
        }
    }
    const std::size_t count = group.size();
    group.clear();  // before flush() returns: nothing a `done` captured is held longer
    {
        const std::scoped_lock lock(mutex_);
        finished_ += count;
        queue_bytes_ -= bytes;
        in_flight_ = 0;
        metrics_.queue_depth.set(static_cast<double>(queue_.size()));
    }
    confirmed_more_.notify_all();
}

void Committer::run() {
    (void)enter_thread(ThreadRole::kCommit, "tg-commit");
    Group group;
    group.reserve(kGroupCommits);
    std::vector<NewEnd> ends;
    rocksdb::WriteBatch batch;
    while (take_group(group)) {
        batch.Clear();
        ends.clear();
        for (const Item& item : group) {
            add_to_batch(item, ends, batch);
        }
        const bool sync = group.front().commit.durability == Durability::kFsync;
        if (!write_until_done(batch, sync)) {
            return;
        }
        confirm(group, ends);
    }
}

Status Committer::flush(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    const std::uint64_t target = submitted_;
    if (confirmed_more_.wait_for(lock, wait, [&] { return finished_ >= target; })) {
        return ok();
    }
    return Error{Fault::kTimeout,
                 std::to_string(target - finished_) + " commits are not confirmed after " +
                     std::to_string(wait.count()) + " ms",
                 last_error_};
}

StoreHealth Committer::health() const {
    const std::scoped_lock lock(mutex_);
    StoreHealth out;
    out.queued = queue_.size() + in_flight_;
    if (out.queued > 0) {
        const auto oldest = in_flight_ > 0 ? in_flight_at_ : queue_.front().at;
        out.oldest_wait =
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - oldest);
    }
    out.failing = failing_;
    out.last_error = last_error_;
    out.commits = commits_;
    out.batches = batches_;
    out.failures = failures_;
    return out;
}

std::uint64_t Committer::last_seq(std::string_view tenant) const {
    const std::scoped_lock lock(mutex_);
    const auto found = tails_.find(tenant);
    return found == tails_.end() ? 0 : found->second.seq;
}

Result<Digest> Committer::begin_bulk(const std::string& tenant, std::uint64_t first_seq,
                                     std::uint64_t count) {
    const std::scoped_lock lock(mutex_);
    Tail& tail = tails_[tenant];
    if (tail.bulk || tail.accepted != tail.seq) {
        return Error{Fault::kConflict, "tenant '" + tenant + "': its log is being written to"};
    }
    if (first_seq != tail.seq + 1) {
        return Error{Fault::kConflict, "tenant '" + tenant + "': first_seq is " +
                                           std::to_string(first_seq) + ", the log's next is " +
                                           std::to_string(tail.seq + 1)};
    }
    tail.bulk = true;
    tail.accepted = tail.seq + count;
    return tail.chain;
}

void Committer::end_bulk(const std::string& tenant, bool written, std::uint64_t seq,
                         const Digest& chain) {
    const std::scoped_lock lock(mutex_);
    Tail& tail = tails_[tenant];
    tail.bulk = false;
    if (written) {
        tail.seq = seq;
        tail.chain = chain;
    }
    tail.accepted = tail.seq;
}

}  // namespace tollgate::store

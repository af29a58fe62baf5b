// Any bytes through the server's own request parser: no crash, no read past the end, and the same
// requests whether the bytes come at once or one by one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "server/batch.h"
#include "server/request_parser.h"
#include "server/routes.h"

namespace {

using namespace tollgate::server;

struct Body final : BodySink {
    std::string* out = nullptr;
    void on_body(std::string_view bytes) override { *out += bytes; }
};

struct Lines final : BatchLines {
    Batch* batch = nullptr;
    void on_line(std::uint64_t sequence, std::string_view text) override {
        batch->answer(sequence, std::string(text));
    }
};

// What a connection would make of the bytes, as text: each request's target, head and body, then
// the fault.
std::string transcript(std::string_view bytes, std::size_t piece) {
    RequestParser parser(ParserLimits{.header_bytes = 2'048});
    std::string out;
    std::string buffer;
    Body body;
    body.out = &out;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        buffer += bytes.substr(at, piece);
        std::size_t used = 1;
        while (used > 0 && !buffer.empty()) {
            const bool header = !parser.header_done();
            used = parser.put(buffer, header, body);
            buffer.erase(0, used);
            if (header && parser.header_done() && !parser.fault()) {
                const RouteMatch match =
                    match_route(ListenerKind::kApi, parser.head().method, parser.head().target);
                out +=
                    "\n" + parser.head().target + (match.path_known ? " known " : " ") + match.id;
                parser.set_body_limit(4'096);
            }
            if (parser.fault()) {
                return out + "\nfault";
            }
            if (parser.done()) {
                out += "\ndone";
                parser.next();
            }
        }
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 16'384) {
        return 0;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string whole = transcript(bytes, size == 0 ? 1 : size);
    const std::string single = transcript(bytes, 1);
    // Cut into bytes, a fault may be seen a little earlier or later, with more of the body handed
    // on; the requests completed before it are the same.
    const auto finished = [](const std::string& text) {
        const std::size_t end = text.rfind("\ndone");
        return end == std::string::npos ? std::string() : text.substr(0, end);
    };
    TG_CHECK(finished(whole) == finished(single), "requests depend on how the bytes were cut");

    Batch batch({.line_bytes = 64, .in_flight = 4, .buffer_bytes = 1'024});
    Lines lines;
    lines.batch = &batch;
    std::string out;
    batch.feed(bytes);
    batch.end_input();
    for (std::size_t i = 0; i < size + 2 && !(batch.done() && !batch.has_output()); ++i) {
        (void)batch.pump(3, lines);
        batch.take(out);
    }
    TG_CHECK(batch.done(), "a batch ends");
    return 0;
}

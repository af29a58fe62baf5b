// The strict request parser over Beast's basic_parser.
#include "server/request_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <utility>

#include "base/check.h"
#include "text/utf8.h"

namespace tollgate::server {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using ErrorCode = boost::beast::error_code;

constexpr std::size_t kMaxFields = 100;
constexpr std::size_t kLastChunkSize = 5;

std::string_view view(beast::string_view text) {
    return {text.data(), text.size()};
}

Method method_of(http::verb verb) {
    switch (verb) {
        case http::verb::get:
        case http::verb::head:
            return Method::kGet;
        case http::verb::post:
            return Method::kPost;
        case http::verb::put:
            return Method::kPut;
        case http::verb::delete_:
            return Method::kDelete;
        default:
            return Method::kOther;
    }
}

bool equal_no_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        const auto lower = [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        };
        return lower(x) == lower(y);
    });
}

// The statuses of Beast's own refusals.
Problem problem_of_parse(const ErrorCode& code) {
    if (code == http::error::header_limit) {
        return {431, "header_too_large", "the request line and headers exceed the limit", ""};
    }
    if (code == http::error::bad_version) {
        return {505, "version_not_supported", "the request line must end in HTTP/1.1", ""};
    }
    if (code == http::error::body_limit) {
        return {413, "too_large", "the body exceeds the limit of this route", ""};
    }
    return {400, "bad_request", code.message(), ""};
}

// One message's parser. It is made anew for each request, in place.
class Message final : public http::basic_parser<true> {
  public:
    Message(RequestHead& head, std::optional<Problem>& fault) : head_(head), fault_(fault) {
        eager(true);
    }
    void set_sink(BodySink* sink) { sink_ = sink; }
    // The next bytes begin a chunk's size line (or the line end before it).
    bool at_chunk_header() const { return is_header_done() && chunked() && chunk_left_ == 0; }

  private:
    void refuse(ErrorCode& code, int status, std::string_view name, std::string detail,
                std::string_view field) {
        fault_ = Problem{status, name, std::move(detail), std::string(field)};
        code = http::error::bad_field;
    }

    void on_request_impl(http::verb method, beast::string_view /*name*/, beast::string_view target,
                         int version, ErrorCode& /*code*/) override {
        head_.method = method_of(method);
        head_.head_only = method == http::verb::head;
        head_.version = version;
        head_.target = view(target);  // keeps the string's capacity
    }

    void on_response_impl(int /*code*/, beast::string_view /*reason*/, int /*version*/,
                          ErrorCode& /*code*/) override {}

    void on_field_impl(http::field name, beast::string_view text, beast::string_view raw,
                       ErrorCode& code) override {
        if (trailers_) {
            return;
        }
        if (++fields_ > kMaxFields) {
            return refuse(code, 431, "header_too_large", "more than 100 header fields", "");
        }
        const std::string_view value = view(raw);
        switch (name) {
            case http::field::host:
                if (++hosts_ > 1) {
                    refuse(code, 400, "bad_request", "more than one Host", "Host");
                }
                break;
            case http::field::content_length:
                on_length(value, code);
                break;
            case http::field::transfer_encoding:
                on_coding(value, code);
                break;
            case http::field::content_encoding:
                if (!equal_no_case(value, "identity")) {
                    refuse(code, 415, "unsupported_media_type",
                           "Content-Encoding is \"" + printable(value, 40) +
                               "\"; only identity is read",
                           "Content-Encoding");
                }
                break;
            case http::field::expect:
                on_expect(value, code);
                break;
            case http::field::authorization:
                if (!std::exchange(authorized_, true)) {
                    head_.authorization = value;
                } else {
                    refuse(code, 400, "bad_request", "more than one Authorization",
                           "Authorization");
                }
                break;
            case http::field::content_type:
                head_.content_type = value;
                break;
            default:
                if (equal_no_case(view(text), "X-Deadline-Ms")) {
                    on_deadline(value, code);
                }
                break;
        }
    }

    void on_deadline(std::string_view value, ErrorCode& code) {
        if (head_.deadline_ms) {
            return refuse(code, 400, "bad_request", "more than one X-Deadline-Ms", "X-Deadline-Ms");
        }
        head_.deadline_ms = std::string(value);
    }

    void on_length(std::string_view value, ErrorCode& code) {
        const bool digits =
            !value.empty() && value.size() <= 19 &&
            std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (!digits || ++lengths_ > 1) {
            refuse(code, 400, "bad_request",
                   "Content-Length must be one decimal number of at most 19 digits",
                   "Content-Length");
        }
    }

    void on_coding(std::string_view value, ErrorCode& code) {
        if (!equal_no_case(value, "chunked")) {
            return refuse(
                code, 501, "unsupported_coding",
                "Transfer-Encoding is \"" + printable(value, 40) + "\"; only chunked alone is read",
                "Transfer-Encoding");
        }
        if (head_.version == 10) {
            refuse(code, 400, "bad_request", "Transfer-Encoding in HTTP/1.0", "Transfer-Encoding");
        }
    }

    void on_expect(std::string_view value, ErrorCode& code) {
        if (!equal_no_case(value, "100-continue")) {
            return refuse(code, 417, "expectation_failed", "only 100-continue can be expected",
                          "Expect");
        }
        head_.expect_continue = head_.version == 11;
    }

    void on_header_impl(ErrorCode& code) override {
        trailers_ = true;
        if (head_.version == 11 && hosts_ == 0) {
            refuse(code, 400, "bad_request", "Host is missing", "Host");
        }
    }

    void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                           ErrorCode& /*code*/) override {}
    std::size_t on_body_impl(beast::string_view bytes, ErrorCode& /*code*/) override {
        sink_->on_body(view(bytes));
        return bytes.size();
    }
    void on_chunk_header_impl(std::uint64_t size, beast::string_view /*extensions*/,
                              ErrorCode& /*code*/) override {
        chunk_left_ = size;
    }
    std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, beast::string_view bytes,
                                   ErrorCode& /*code*/) override {
        sink_->on_body(view(bytes));
        chunk_left_ -= bytes.size();
        return bytes.size();
    }
    void on_finish_impl(ErrorCode& /*code*/) override {}

    RequestHead& head_;
    std::optional<Problem>& fault_;
    BodySink* sink_ = nullptr;
    std::uint64_t chunk_left_ = 0;
    std::size_t fields_ = 0;
    int hosts_ = 0;
    int lengths_ = 0;
    bool authorized_ = false;
    bool trailers_ = false;
};

}  // namespace

void RequestHead::clear() {
    method = Method::kOther;
    head_only = false;
    version = 11;
    keep_alive = true;
    expect_continue = false;
    has_body = false;
    content_length.reset();
    target.clear();
    authorization.clear();
    content_type.clear();
    deadline_ms.reset();
}

class RequestParser::Impl {
  public:
    explicit Impl(const ParserLimits& limits) : limits_(limits) { next(); }

    void next() {
        head_.clear();
        fault_.reset();
        started_ = false;
        headed_ = false;
        header_bytes_ = 0;
        message_.emplace(head_, fault_);
        message_->header_limit(limits_.header_bytes);
        // The route's own limit is set once the headers are known. (boost::none would refuse every
        // Content-Length: Beast compares the number with the empty optional.)
        message_->body_limit(std::numeric_limits<std::uint64_t>::max());
    }

    std::size_t put(std::string_view bytes, bool stop_at_header, BodySink& sink) {
        TG_CHECK(!fault_ && !message_->is_done(), "put after the end of a request");
        started_ = started_ || !bytes.empty();
        message_->set_sink(&sink);
        message_->eager(!stop_at_header);
        std::size_t used = 0;
        ErrorCode code;
        // Each call consumes at least a byte or ends the loop, so it ends.
        while (used < bytes.size() && !message_->is_done()) {
            // Beast asserts that it sees the shortest end of a chunked body, "0\r\n\r\n", at once
            // when it comes back to a last chunk; no message ends in less.
            if (headed_ && message_->at_chunk_header() && bytes.size() - used < kLastChunkSize) {
                break;
            }
            const std::size_t n = message_->put({bytes.data() + used, bytes.size() - used}, code);
            used += n;
            if (message_->is_header_done() && !headed_) {
                on_header();
            }
            if (code || n == 0 || (stop_at_header && headed_)) {
                break;
            }
        }
        if (code && code != http::error::need_more && !fault_) {
            fault_ = problem_of_parse(code);
        }
        if (!headed_ && !fault_) {
            header_bytes_ += used;
            if (header_bytes_ + (bytes.size() - used) > limits_.header_bytes) {
                fault_ = problem_of_parse(http::error::header_limit);
            }
        }
        return used;
    }

    void set_body_limit(std::uint64_t bytes) {
        if (head_.content_length && *head_.content_length > bytes) {
            fault_ = Problem{413, "too_large",
                             "the body has " + std::to_string(*head_.content_length) +
                                 " bytes, the limit is " + std::to_string(bytes),
                             "Content-Length"};
            return;
        }
        message_->body_limit(bytes);
    }

    void on_header() {
        headed_ = true;
        head_.keep_alive = message_->keep_alive();
        const auto length = message_->content_length();
        if (length) {
            head_.content_length = *length;
        }
        head_.has_body = message_->chunked() || (length && *length > 0);
    }

    ParserLimits limits_;
    RequestHead head_;
    std::optional<Problem> fault_;
    std::optional<Message> message_;
    std::size_t header_bytes_ = 0;  // consumed so far by the head of this request
    bool started_ = false;
    bool headed_ = false;
};

RequestParser::RequestParser(const ParserLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view bytes, bool stop_at_header, BodySink& sink) {
    return impl_->put(bytes, stop_at_header, sink);
}
bool RequestParser::started() const {
    return impl_->started_;
}
bool RequestParser::header_done() const {
    return impl_->headed_;
}
bool RequestParser::done() const {
    return impl_->message_->is_done();
}
const std::optional<Problem>& RequestParser::fault() const {
    return impl_->fault_;
}
const RequestHead& RequestParser::head() const {
    return impl_->head_;
}
void RequestParser::set_body_limit(std::uint64_t bytes) {
    impl_->set_body_limit(bytes);
}
void RequestParser::next() {
    impl_->next();
}

}  // namespace tollgate::server

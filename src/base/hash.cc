// SHA-256 through OpenSSL's EVP, XXH3, hexadecimal and the system's random bytes.
#include "base/hash.h"

#include <openssl/evp.h>
#include <sys/random.h>
#include <xxhash.h>

#include <cerrno>

#include "base/check.h"

namespace tollgate {
namespace {

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
struct FreeDigest {
    void operator()(EVP_MD* digest) const noexcept { EVP_MD_free(digest); }
};

// A SHA-256 that is set up once (the fetch and the context allocate) and then only re-started.
class Context {
  public:
    Context() : digest_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
        TG_CHECK(digest_ != nullptr && context_ != nullptr, "OpenSSL has no SHA-256");
        start();
    }
    void start() {
        TG_CHECK(EVP_DigestInit_ex2(context_.get(), digest_.get(), nullptr) == 1, "SHA-256 init");
    }
    void update(std::string_view bytes) {
        TG_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1,
                 "SHA-256 update");
    }
    // Leaves the context ready for the next message.
    Digest finish() {
        Digest out{};
        TG_CHECK(EVP_DigestFinal_ex(context_.get(), out.data(), nullptr) == 1, "SHA-256 final");
        start();
        return out;
    }

  private:
    std::unique_ptr<EVP_MD, FreeDigest> digest_;
    std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

struct Sha256::Impl {
    Context context;
};

Digest sha256(std::string_view bytes) {
    // Per thread, not global state: it holds nothing between two calls.
    thread_local Context context;
    context.update(bytes);
    return context.finish();
}

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
    impl_->context.update(bytes);
}

Digest Sha256::finish() {
    return impl_->context.finish();
}

std::string to_hex(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(kHexDigits[byte >> 4U]);
        out.push_back(kHexDigits[byte & 15U]);
    }
    return out;
}

std::string to_hex(const Digest& digest) {
    return to_hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string random_bytes(std::size_t size) {
    std::string out(size, '\0');
    std::size_t have = 0;
    while (have < size) {
        const ssize_t got = ::getrandom(out.data() + have, size - have, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        TG_CHECK(got > 0, "getrandom: the system gives no random bytes");
        have += static_cast<std::size_t>(got);
    }
    return out;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) {
        return false;
    }
    // volatile keeps the compiler from leaving the loop at the first difference.
    volatile unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto here = static_cast<unsigned char>(static_cast<unsigned char>(a[i]) ^
                                                     static_cast<unsigned char>(b[i]));
        difference = static_cast<unsigned char>(difference | here);
    }
    return difference == 0;
}

}  // namespace tollgate

// SHA-256 through OpenSSL, XXH3, hexadecimal and the system's random bytes.
#include "base/hash.h"

#define OPENSSL_SUPPRESS_DEPRECATED  // why: see Context
#include <openssl/sha.h>
#include <sys/random.h>
#include <xxhash.h>

#include <cerrno>

#include "base/check.h"

namespace tollgate {
namespace {

// SHA-256 on OpenSSL's low-level functions: deprecated in 3.0 in favour of EVP, but EVP allocates a
// provider context at every init (measured on 3.0: one malloc a digest, also with a context and a
// fetched digest that are reused), and these run the same assembly.
class Context {
  public:
    Context() { start(); }
    void start() { TG_CHECK(SHA256_Init(&state_) == 1, "SHA-256 init"); }
    void update(std::string_view bytes) {
        TG_CHECK(SHA256_Update(&state_, bytes.data(), bytes.size()) == 1, "SHA-256 update");
    }
    // Leaves the context ready for the next message.
    Digest finish() {
        Digest out{};
        TG_CHECK(SHA256_Final(out.data(), &state_) == 1, "SHA-256 final");
        start();
        return out;
    }

  private:
    SHA256_CTX state_{};
};

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

struct Sha256::Impl {
    Context context;
};

Digest sha256(std::string_view bytes) {
    Context context;
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

// The memo grammar: sentences with slots, slots with alternatives.
#include "pipeline/simulate_memo.h"

#include <array>
#include <span>
#include <string_view>

#include "pipeline/simulate_random.h"

namespace tollgate::pipeline {
namespace {

using Words = std::span<const std::string_view>;

// Slots: {m} month, {n} number of 4 to 6 digits, {r} reference such as RE-4711, {a} authority,
// {c} crypto, {u} urgency, {w} reason of need, {p} person, {g} thing bought, {s} safe account,
// {i} investment, {t} kind of tax, {e} event among friends, {o} work that was invoiced.
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 8> kReferences = {"RE-",  "INV-", "PO ",   "no. ",
                                                         "ref ", "#",    "case ", "K-"};
constexpr std::array<std::string_view, 9> kAuthorities = {
    "fraud department", "bank security", "tax office",     "customs", "police cyber unit",
    "prosecutor",       "court",         "revenue agency", "the bank"};
constexpr std::array<std::string_view, 7> kCrypto = {
    "bitcoin", "USDT", "ETH", "crypto wallet", "BTC", "coin", "token sale"};
constexpr std::array<std::string_view, 10> kUrgency = {
    "urgent", "today only",    "asap",      "immediately",  "before 5 pm",
    "final",  "last reminder", "right now", "do not delay", "same day"};
constexpr std::array<std::string_view, 10> kNeeds = {
    "hospital bill", "flight ticket",   "visa fee",   "customs release", "surgery",
    "stuck abroad",  "inheritance fee", "army leave", "rent help",       "phone broken"};
constexpr std::array<std::string_view, 9> kPersons = {
    "my love", "my dear", "darling",    "honey",           "for mum new number",
    "for dad", "my son",  "sweetheart", "my friend online"};
constexpr std::array<std::string_view, 12> kThings = {
    "sofa",  "bike", "concert tickets", "phone",  "laptop", "car deposit",
    "dryer", "desk", "camera",          "guitar", "fridge", "pram"};
constexpr std::array<std::string_view, 8> kSafe = {
    "safe account",       "secure account",    "holding account", "protected account",
    "new account number", "temporary account", "escrow safe",     "reserve account"};
constexpr std::array<std::string_view, 8> kInvestments = {
    "guaranteed return", "trading deposit", "staking unlock", "platform fee",
    "profit withdrawal", "margin top up",   "VIP level",      "mining plan"};
constexpr std::array<std::string_view, 7> kTaxes = {
    "income tax",  "tax arrears", "back taxes",        "VAT",
    "import duty", "tax penalty", "refund release fee"};
constexpr std::array<std::string_view, 12> kEvents = {
    "dinner",  "birthday", "ski trip", "groceries", "cinema",      "football",
    "holiday", "taxi",     "lunch",    "wedding",   "electricity", "school trip"};
constexpr std::array<std::string_view, 10> kWork = {
    "plumbing",   "web design", "catering",   "translation", "roof repair",
    "tax advice", "printing",   "consulting", "cleaning",    "garden work"};

Words words_of(char slot) {
    switch (slot) {
        case 'm':
            return kMonths;
        case 'a':
            return kAuthorities;
        case 'c':
            return kCrypto;
        case 'u':
            return kUrgency;
        case 'w':
            return kNeeds;
        case 'p':
            return kPersons;
        case 'g':
            return kThings;
        case 's':
            return kSafe;
        case 'i':
            return kInvestments;
        case 't':
            return kTaxes;
        case 'e':
            return kEvents;
        case 'o':
            return kWork;
        default:
            return {};
    }
}

constexpr std::array<std::string_view, 5> kOrder = {"order {n}", "web order {r}", "booking {n}",
                                                    "cart {n}", "subscription {m}"};
constexpr std::array<std::string_view, 6> kSalary = {"salary {m}", "wages {m}", "payroll {m} {n}",
                                                     "Gehalt {m}", "급여 {n}",  "salaire {m}"};
constexpr std::array<std::string_view, 7> kRent = {
    "rent {m}", "rent flat {n}", "Miete {m}",           "loyer {m}",
    "월세 {n}", "alquiler {m}",  "rent and heating {m}"};
constexpr std::array<std::string_view, 16> kEveryday = {"{e}",
                                                        "{e} share",
                                                        "thanks for {e}",
                                                        "{e} {m}",
                                                        "for the {g}",
                                                        "my half of {e}",
                                                        "split {e} and {e}",
                                                        "{g} from the flea market",
                                                        "pocket money {m}",
                                                        "Danke fuer {e}",
                                                        "merci {e}",
                                                        "gracias {e}",
                                                        "생일 선물",
                                                        "점심값",
                                                        "飲み会代",
                                                        "cadeau {m}"};
constexpr std::array<std::string_view, 8> kBusiness = {
    "invoice {r}{n}", "{o} invoice {r}{n}", "{o} {m}",       "Rechnung {r}{n}",
    "facture {r}{n}", "deposit {o} {r}{n}", "{o} as agreed", "order {r}{n} thank you"};
constexpr std::array<std::string_view, 6> kCollection = {"club dues {m}",  "present {e}",
                                                         "team fee {m}",   "{e} kitty",
                                                         "class trip {m}", "course fee {n}"};
constexpr std::array<std::string_view, 7> kVague = {"transfer", "payment", "{n}",         "ok",
                                                    "thx",      "for you", "as discussed"};
constexpr std::array<std::string_view, 24> kLookalike = {
    "invoice {r}{n} new bank details confirmed by phone",
    "{o} invoice {r}{n} final part",
    "{t} {m} assessment {r}{n}",
    "{t} own return {m}",
    "tax adviser fee {m}",
    "bitcoin book for {p}",
    "sold my BTC miner, {g}",
    "{c} meetup pizza",
    "hospital bill {m} own share",
    "flight ticket {e}",
    "visa fee {m} embassy",
    "rent help {m} for my son",
    "urgent {o} repair {m}",
    "safe deposit box {m}",
    "locksmith, new safe {n}",
    "bank safe rental {m}",
    "savings to my own account {m}",
    "moving to my new account number {m}",
    "customs duty parcel {n}",
    "court fee paid via lawyer {n}",
    "surgery for the dog {m}",
    "happy birthday my love",
    "police sports club {m}",
    "Steuer {m} Vorauszahlung"};
constexpr std::array<std::string_view, 12> kScamInvoice = {
    "invoice {r}{n} to new bank details",
    "changed IBAN for invoice {r}{n}",
    "{u}: {o} invoice {r}{n}, updated account",
    "supplier account changed, invoice {r}{n}",
    "CEO request {u} invoice {r}{n}",
    "confidential acquisition payment {u}",
    "overdue {o} {r}{n} pay to new account {u}",
    "invoice {r}{n} as per email, new beneficiary",
    "Rechnung {r}{n} neue Bankverbindung",
    "facture {r}{n} nouveau RIB {u}",
    "{u} payment {r}{n} do not call back",
    "remittance {r}{n} replaced account details"};
constexpr std::array<std::string_view, 12> kScamRomance = {"{p} {w}",
                                                           "{w} {p}",
                                                           "for your {w} {p}",
                                                           "{w}, see you soon {p}",
                                                           "help with {w} {p} {u}",
                                                           "{p} I send for {w}",
                                                           "loan to {p} until you arrive",
                                                           "{w} so we can meet {p}",
                                                           "Hallo Mama neue Nummer {w}",
                                                           "Hola mama numero nuevo {w}",
                                                           "{p} oil rig {w}",
                                                           "gift cards for {p} {w}"};
constexpr std::array<std::string_view, 12> kScamTax = {"{t} {a} {u}",
                                                       "{t} penalty {r}{n} avoid arrest",
                                                       "{a} {t} {r}{n} {u}",
                                                       "settle {t} to stop warrant {r}{n}",
                                                       "{a} clearance {r}{n}",
                                                       "refund processing {t} {r}{n}",
                                                       "fine {r}{n} {a} {u}",
                                                       "release of parcel {t} {a}",
                                                       "{u} {t} payment told by phone",
                                                       "Steuerschuld {r}{n} sofort",
                                                       "검찰 사건 {n} 안전 보관",
                                                       "impot amende {r}{n} {u}"};
constexpr std::array<std::string_view, 12> kScamCrypto = {"{c} {i}",
                                                          "{i} {c} {u}",
                                                          "{c} broker {i} account {n}",
                                                          "unlock {c} {i}",
                                                          "{i} level {n} {c}",
                                                          "top up {c} to withdraw",
                                                          "my {c} adviser {i}",
                                                          "{c} recovery fee {r}{n}",
                                                          "{i} {u} group chat tip",
                                                          "fee to release {c} balance",
                                                          "investissement {c} {i}",
                                                          "코인 투자 입금 {n}"};
constexpr std::array<std::string_view, 12> kScamSafeAccount = {"move to {s}",
                                                               "{s} {a}",
                                                               "{a} told me {s}",
                                                               "{u} to {s} {r}{n}",
                                                               "protect savings {s}",
                                                               "{a} {r}{n} {s} {u}",
                                                               "account compromised, {s}",
                                                               "{s} until new card {u}",
                                                               "all savings to {s}",
                                                               "Sicherheitskonto {a}",
                                                               "compte securise {a} {u}",
                                                               "安全口座 {n}"};

Words sentences_of(MemoKind kind) {
    switch (kind) {
        case MemoKind::kNone:
            return {};
        case MemoKind::kOrder:
            return kOrder;
        case MemoKind::kSalary:
            return kSalary;
        case MemoKind::kRent:
            return kRent;
        case MemoKind::kEveryday:
            return kEveryday;
        case MemoKind::kBusiness:
            return kBusiness;
        case MemoKind::kCollection:
            return kCollection;
        case MemoKind::kVague:
            return kVague;
        case MemoKind::kLookalike:
            return kLookalike;
        case MemoKind::kScamInvoice:
            return kScamInvoice;
        case MemoKind::kScamRomance:
            return kScamRomance;
        case MemoKind::kScamTax:
            return kScamTax;
        case MemoKind::kScamCrypto:
            return kScamCrypto;
        case MemoKind::kScamSafeAccount:
            return kScamSafeAccount;
    }
    return {};
}

std::string_view pick(SimRandom& random, Words words) {
    return words[random.below(static_cast<std::uint32_t>(words.size()))];
}

void append_slot(std::string& out, SimRandom& random, char slot) {
    if (slot == 'n') {
        out += std::to_string(random.between(1'000, 999'999));
    } else if (slot == 'r') {
        out += random.pick(kReferences);
    } else {
        out += pick(random, words_of(slot));
    }
}

// One writer in five types everything in lower case, one in twelve in capitals (ASCII only).
void apply_habit(std::string& out, std::size_t from, SimRandom& random) {
    const auto habit = random.below(60);
    for (auto i = from; i < out.size() && habit < 17; ++i) {
        const char c = out[i];
        if (habit < 12 && c >= 'A' && c <= 'Z') {
            out[i] = static_cast<char>(c - 'A' + 'a');
        } else if (habit >= 12 && c >= 'a' && c <= 'z') {
            out[i] = static_cast<char>(c - 'a' + 'A');
        }
    }
}

}  // namespace

void append_memo(std::string& out, MemoKind kind, std::uint64_t seed) {
    const auto sentences = sentences_of(kind);
    if (sentences.empty()) {
        return;
    }
    SimRandom random(seed);
    const auto from = out.size();
    const auto sentence = pick(random, sentences);
    for (std::size_t i = 0; i < sentence.size(); ++i) {
        if (sentence[i] == '{' && i + 2 < sentence.size()) {
            append_slot(out, random, sentence[i + 1]);
            i += 2;
        } else {
            out += sentence[i];
        }
    }
    apply_habit(out, from, random);
}

}  // namespace tollgate::pipeline

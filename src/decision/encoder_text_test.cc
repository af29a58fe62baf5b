// Tests of encoder.j2: what a template sees of an event, its windows and its history, what is
// refused when the pack is loaded, and the words and numbers that come out.
#include "decision/encoder_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/hash.h"
#include "decision/event_fields.h"
#include "decision/event_json.h"
#include "decision/pack.h"
#include "text/json.h"

namespace tollgate {
namespace {

constexpr std::string_view kToml = R"(
[pack]
name = "t"
currency = "USD"
time_zone = "Asia/Seoul"
[attributes.home_country]
type = "string"
[attributes.income]
type = "money"
[attributes.age]
type = "integer"
[rates.EUR]
2026-01-01 = "1.5"
[rates.JPY]
2026-01-01 = "0.01"
)";

constexpr std::string_view kCardRules =
    R"(ruleset "card" version 1 currency USD tz "UTC" on_error review
window n_1d   count()       by account_id over 1d excluding current
window sum_1d sum(amount)   by account_id over 1d excluding current
window max_1d max(amount)   by account_id over 1d excluding current
window seen   first_seen()  by account_id over 1d excluding current
window chan   last(channel) by account_id over 1d excluding current
window bad_1d count()       by account_id over 1d excluding current where label = fraud
keep   half = amount / USD 2.00
window halves max(half)     by account_id over 1d excluding current
rule R001 "uses them" review if n_1d > 90 and sum_1d > USD 9.00 and max_1d > USD 9.00 and
  occurred_at - seen < 1h and chan = "ecom" and bad_1d > 1 and halves > 9
)";

constexpr std::string_view kYenRules =
    R"(ruleset "yen" version 1 currency JPY tz "UTC" on_error review
window yen_1d sum(amount) by account_id over 1d excluding current
rule R002 "uses it" review if yen_1d > JPY 9
)";

PackFiles files(const std::string& encoder) {
    return {{"policy.toml", std::string(kToml)},
            {"rules/card.rules", std::string(kCardRules)},
            {"encoder.j2", encoder}};
}

PackFiles with_yen(const std::string& encoder) {
    PackFiles out = files(encoder);
    out.emplace("rules/yen.rules", kYenRules);
    return out;
}

std::unique_ptr<const PolicyPack> load(PackFiles source) {
    std::vector<Diagnostic> found;
    return load_pack(std::move(source), found).value_or_die();
}

std::string refusal(const std::string& encoder) {
    std::vector<Diagnostic> found;
    const auto pack = load_pack(files(encoder), found);
    return pack ? "accepted" : pack.error().message;
}

Buckets buckets(const std::string& fields) {
    return Buckets::parse(R"({"version":1,"fields":)" + fields + "}").value_or_die();
}

struct Sent {
    std::string at = "2026-03-02T00:00:00Z";  // a Monday, 09:00 in Seoul
    std::string account = "A";
    std::string amount = "10.00";
    std::string currency = "USD";
    std::string more;  // members, with a comma before
};

// A pack's window store and the newest event of it.
class Desk {
  public:
    explicit Desk(PackFiles source) : pack_(load(std::move(source))), store_(plan(), {}) {}
    explicit Desk(const std::string& encoder) : Desk(files(encoder)) {}

    void send(const Sent& sent) {
        JsonDocument document;
        const std::string json = R"({"event_id":"e)" + std::to_string(++arrival_) +
                                 R"(","event_type":"payment","occurred_at":")" + sent.at +
                                 R"(","account_id":")" + sent.account + R"(","amount":{"value":")" +
                                 sent.amount + R"(","currency":")" + sent.currency + "\"}" +
                                 sent.more + "}";
        event_ = parse_event(document.parse(json).value_or_die(), pack_->schema()).value_or_die();
        fields_.assign(pack_->fields.size(), Value::unknown());
        fill_fields(event_, pack_->fields, pack_->rates, pack_->zones, std::nullopt, fields_);
        WindowStore::keys_of(plan(), fields_, keys_);
        const EvalInput input{
            .fields = fields_, .windows = {}, .lists = &pack_->lists, .now = event_.occurred_at};
        store_.assess(
            plan(), keys_,
            {.at = event_.occurred_at, .arrival = arrival_, .id_hash = hash64(event_.event_id)},
            input, RecordMode::kRecord, values_);
    }
    void label(Label label, const std::string& known_at) {
        ASSERT_TRUE(store_.apply_label(keys_, event_.occurred_at, arrival_, label,
                                       parse_rfc3339("t", known_at).value_or_die()));
    }
    EncoderInput input() const {
        return {.fields = fields_,
                .windows = values_.values,
                .store = &store_,
                .keys = &keys_,
                .at = event_.occurred_at,
                .arrival = arrival_};
    }
    std::string text(const Buckets& of = {}) const {
        std::string out;
        const Status done = pack_->encoder->render(input(), of, out);
        return done ? out : "refused: " + done.error().message;
    }
    std::vector<BucketNumber> numbers() const {
        std::vector<BucketNumber> out;
        EXPECT_TRUE(pack_->encoder->numbers(input(), out));
        return out;
    }
    const EncoderText& encoder() const { return *pack_->encoder; }
    const PolicyPack& pack() const { return *pack_; }

  private:
    const WindowPlan& plan() const { return pack_->rules->plan; }

    std::unique_ptr<const PolicyPack> pack_;
    WindowStore store_;
    Event event_;
    std::vector<Value> fields_;
    EventKeys keys_;
    WindowValues values_;
    std::uint64_t arrival_ = 0;
};

TEST(EncoderEvent, FieldsHaveTheirDottedNamesAndTheirKinds) {
    Desk desk(
        "{{ event.event_type }} {{ event.amount }} {{ event.currency }} {{ event.channel }} "
        "{{ event.counterparty.category }} {{ event.device.ip_country }} {{ event.memo }} "
        "{{ event.attributes.home_country }} {{ event.attributes.age }} "
        "{{ event.attributes.income }} {{ event.occurred_at }}");
    desk.send({.amount = "10.50",
               .more = R"(,"counterparty":{"category":"5411"},"channel":"ecom","memo":"a boat",)"
                       R"("device":{"ip_country":"KR"},)"
                       R"("attributes":{"home_country":"FR","age":41,"income":"300.25"})"});
    EXPECT_EQ(desk.text(), "payment 10.5 USD ecom 5411 KR a boat FR 41 300.25 1772409600.0");
}

TEST(EncoderEvent, HourAndWeekdayAreOfThePacksZone) {
    Desk desk("{{ event.hour }} {{ event.weekday }}");
    desk.send({.at = "2026-03-01T14:59:59Z"});  // Sunday, 23:59:59 in Seoul
    EXPECT_EQ(desk.text(), "23 6");
    desk.send({.at = "2026-03-01T15:00:00Z"});  // Monday, midnight
    EXPECT_EQ(desk.text(), "0 0");
}

TEST(EncoderEvent, AmountsAreInThePacksCurrencyAndNoneWithoutARate) {
    Desk desk("{{ event.amount }} {{ event.amount is none }}");
    desk.send({.amount = "10.00", .currency = "EUR"});
    EXPECT_EQ(desk.text(), "15.0 False");
    desk.send({.amount = "1000", .currency = "JPY"});
    EXPECT_EQ(desk.text(), "10.0 False");
    desk.send({.amount = "10.00", .currency = "GBP"});
    EXPECT_EQ(desk.text(), "None True");
}

TEST(EncoderEvent, WhatIsMissingIsNone) {
    Desk desk(
        "{{ event.memo is none }} {{ event.counterparty.id is none }} "
        "{{ event.attributes.age is none }} {{ windows.max_1d is none }} {{ windows.n_1d }}");
    desk.send({});
    EXPECT_EQ(desk.text(), "True True True True 0");
}

TEST(EncoderWindows, AreThoseOfThisEventInUnitsAndSeconds) {
    Desk desk(
        "{{ windows.n_1d }} {{ windows.sum_1d }} {{ windows.max_1d }} {{ windows.chan }} "
        "{{ days_since(windows.seen) }}");
    desk.send({.at = "2026-03-02T00:00:00Z", .amount = "10.25", .more = R"(,"channel":"pos")"});
    desk.send({.at = "2026-03-02T06:00:00Z", .amount = "2.50", .more = R"(,"channel":"ecom")"});
    desk.send({.at = "2026-03-02T12:00:00Z", .amount = "99.00"});
    // The newest payment of the day with a channel is the second.
    EXPECT_EQ(desk.text(), "2 12.75 10.25 ecom 0.5");
}

// 1,000 yen are 1,000, not 10: yen have no decimals, the pack's dollars have two.
TEST(EncoderWindows, MoneyOfAnotherRuleSetIsInWholeUnitsOfItsCurrency) {
    Desk desk(with_yen("{{ windows.yen_1d }} {{ windows.sum_1d }}"));
    desk.send({.amount = "1000", .currency = "JPY"});
    desk.send({});
    EXPECT_EQ(desk.text(), "1000.0 10.0");
}

constexpr const char* kHistory =
    "{% for p in history('account_id', 3) %}{{ p.age_days }}/{{ p.amount }}/{{ p.half }}/"
    "{{ p.channel }}/{{ p.label }} {% endfor %}";

TEST(EncoderHistory, IsNewestFirstOfThatKeyWithoutTheEventItself) {
    Desk desk(kHistory);
    desk.send({.at = "2026-03-01T00:00:00Z", .amount = "1.00"});
    desk.send({.at = "2026-03-02T00:00:00Z", .amount = "2.00", .more = R"(,"channel":"ecom")"});
    desk.send({.at = "2026-03-02T00:00:00Z", .account = "B", .amount = "7.00"});
    desk.send({.at = "2026-03-02T00:00:00Z", .amount = "3.00"});
    EXPECT_EQ(desk.text(), "0.0/2.0/1/ecom/None 1.0/1.0/0.5/None/None");
    desk.send({.at = "2026-03-02T12:00:00Z", .amount = "4.00"});
    EXPECT_EQ(desk.text(), "0.5/3.0/1.5/None/None 0.5/2.0/1/ecom/None 1.5/1.0/0.5/None/None");
    desk.send({.at = "2026-03-03T00:00:00Z", .account = "C"});
    EXPECT_EQ(desk.text(), "");
}

TEST(EncoderHistory, KnowsALabelFromTheTimeItIsKnown) {
    Desk desk(kHistory);
    desk.send({.at = "2026-03-02T00:00:00Z"});
    desk.label(Label::kFraud, "2026-03-02T18:00:00Z");
    desk.send({.at = "2026-03-02T12:00:00Z"});
    EXPECT_EQ(desk.text(), "0.5/10.0/5/None/None");
    desk.label(Label::kLegit, "2026-03-02T13:00:00Z");
    desk.send({.at = "2026-03-02T18:00:00Z"});
    EXPECT_EQ(desk.text(), "0.25/10.0/5/None/legit 0.75/10.0/5/None/fraud");
}

// The store keeps an amount per rule set's currency; `amount` is the pack's.
TEST(EncoderHistory, AmountIsInThePacksCurrencyAndOthersSayTheirs) {
    Desk desk(
        with_yen("{% for p in history('account_id', 1) %}{{ p.amount }} {{ p.amount_jpy }}"
                 "{% endfor %}"));
    desk.send({.amount = "25.00"});
    desk.send({});
    EXPECT_EQ(desk.text(), "25.0 2500.0");
}

TEST(EncoderFunctions, AnswerNoneForNone) {
    Desk desk(
        "{{ ratio(6, 4) }} {{ ratio(1, 0) }} {{ ratio(none, 2) }} {{ ratio(2, none) }} "
        "{{ minus(6, 4) }} {{ minus(none, 1) }} {{ minus(1, none) }} {{ days_since(none) }} "
        "{{ ratio(windows.missing_is_undefined, 1) if false }}");
    desk.send({});
    EXPECT_EQ(desk.text(), "1.5 None None None 2.0 None None None");
}

TEST(EncoderBucket, MakesTheWordsThatTheModelReads) {
    Desk desk(
        "{{ event.amount | bucket('amt') }}\n\n  {{ none | bucket('none') }}\t"
        "{{ {}.undefined | bucket('undef') }} {{ event.memo | bucket('memo') }}\n"
        "{% if wants('free') %}{{ event.memo }}{% endif %}\n");
    desk.send({.amount = "30.00", .more = R"(,"memo":"a \t\n boat")"});
    EXPECT_EQ(desk.text(buckets(R"({"amt":[10,20],"none":[1],"free":[]})")), "amt2 nonena a boat");
    EXPECT_EQ(desk.text(buckets(R"({"memo":[1]})")), "memona");  // a text is no number
    EXPECT_EQ(desk.text(buckets(R"({"undef":[1]})")), "undefna");
    EXPECT_EQ(desk.text(buckets("{}")), "");
}

TEST(EncoderNumbers, AreEveryBucketsInOrderWithNothingUnwanted) {
    Desk desk(
        "{{ event.amount | bucket('amt') }}{% if wants('x') %}{{ none | bucket('x') }}"
        "{% endif %}{{ windows.n_1d | bucket('n') }}{{ 2 | bucket('amt') }}");
    desk.send({.amount = "30.00"});
    const std::vector<BucketNumber> found = desk.numbers();
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[0].name, "amt");
    EXPECT_EQ(found[0].value, 30.0);
    EXPECT_EQ(found[1].name, "x");
    EXPECT_TRUE(std::isnan(found[1].value));
    EXPECT_EQ(found[2].name, "n");
    EXPECT_EQ(found[2].value, 0.0);
    EXPECT_EQ(found[3].name, "amt");
    EXPECT_EQ(found[3].value, 2.0);
}

TEST(EncoderNames, AreFoundInLoopsOverAHistoryToo) {
    const Desk desk(
        "{{ event.amount | bucket('amt') }}{% if wants('memo') %}{% endif %}"
        "{% for p in history('account_id', 3) %}{{ p.age_days | bucket('hage') }}"
        "{{ ratio(p.amount, event.amount) | bucket('hrat') }}{% endfor %}");
    EXPECT_EQ(desk.encoder().names(), (std::vector<std::string>{"amt", "hage", "hrat", "memo"}));
    EXPECT_TRUE(desk.encoder().check(buckets(R"({"hage":[1],"memo":[]})")));
    const Status refused = desk.encoder().check(buckets(R"({"amt":[1],"hrta":[1]})"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("\"hrta\""), std::string::npos);
    EXPECT_NE(refused.error().message.find("did you mean \"hrat\""), std::string::npos);
}

TEST(EncoderPack, NamesThatThePackDoesNotHaveAreRefusedWithTheNearest) {
    const std::pair<const char*, std::vector<const char*>> wrong[] = {
        {"{{ windows.sum_id }}", {"windows has no \"sum_id\"", "\"sum_1d\""}},
        {"{{ windows['n_1'] }}", {"windows has no \"n_1\"", "\"n_1d\""}},
        {"{{ event.amuont }}", {"event has no \"amuont\"", "\"amount\""}},
        {"{{ event.device.ip_county }}", {"event.device has no \"ip_county\"", "\"ip_country\""}},
        {"{{ event.attributes.aeg }}", {"event.attributes has no \"aeg\"", "\"age\""}},
        {"{{ history('acount_id', 3) }}", {"encoder.j2:1", "by \"acount_id\"", "\"account_id\""}},
        {"{% for p in history('account_id', 3) %}{{ windows.sum_id }}{% endfor %}", {"sum_id"}},
        {"\n{{ history('account_id', 65) }}", {"encoder.j2:2", "1 to 64"}},
        {"{{ history('account_id', 0) }}", {"1 to 64"}},
        {"{{ prompt }}", {"no \"prompt\" here"}},
        {"{{ 1 | bucket('a1') }}", {"\"a1\" is no field's name"}},
        {"{{ 1 | bucket }}", {"bucket takes a field's name"}},
        {"{{ wants('A') }}", {"\"A\" is no field's name"}},
        {"{{ 1 | buckets('a') }}", {"encoder.j2:1", "bucket"}},
        {"a\nb\n{% if %}", {"encoder.j2:3"}},
    };
    for (const auto& [source, expected] : wrong) {
        const std::string message = refusal(source);
        for (const char* part : expected) {
            EXPECT_NE(message.find(part), std::string::npos) << source << " -> " << message;
        }
    }
}

TEST(EncoderPack, HasNoEncoderWithoutTheFileAndReadsTheWindowsOfOneWithIt) {
    PackFiles plain = files("");
    plain.erase("encoder.j2");
    EXPECT_EQ(load(plain)->encoder, nullptr);
    plain["rules/card.rules"] += "window spare count() by account_id over 2h excluding current\n";
    const auto warned = load(plain);
    EXPECT_EQ(std::count_if(warned->warnings.begin(), warned->warnings.end(),
                            [](const std::string& w) { return w.find("spare") != w.npos; }),
              1);
    plain["encoder.j2"] = "{{ windows.spare }}";
    const auto read = load(plain);
    EXPECT_NE(read->encoder, nullptr);
    EXPECT_TRUE(read->warnings.empty()) << read->warnings.front();
}

TEST(EncoderRender, IsBoundedAndLeavesTheOutputAsItWas) {
    Desk desk("{% for i in range(50) %}{{ event.memo }}{% endfor %}");
    desk.send({.more = ",\"memo\":\"" + std::string(1000, 'm') + "\""});
    std::string out = "before";
    const Status refused = desk.encoder().render(desk.input(), {}, out);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kTooLarge);
    EXPECT_EQ(out, "before");
    // A name in a branch that an empty event does not take is found by the first that does.
    Desk late("{% if event.memo %}{{ windows.nothing }}{% endif %}ok");
    late.send({});
    EXPECT_EQ(late.text(), "ok");
    late.send({.more = R"(,"memo":"x")"});
    EXPECT_NE(late.text().find("windows has no \"nothing\""), std::string::npos) << late.text();
}

TEST(EncoderRender, AnyThreadMayRenderAtTheSameTime) {
    Desk desk(std::string("{{ event.amount | bucket('amt') }} ") + kHistory);
    desk.send({.amount = "5.00"});
    desk.send({.amount = "30.00"});
    const Buckets all = buckets(R"({"amt":[10,20]})");
    const Buckets none = buckets("{}");
    const std::string with = desk.text(all);
    const std::string without = desk.text(none);
    ASSERT_NE(with, without);
    const auto wrong = [&](const Buckets& of, const std::string& expected, int& count) {
        for (int i = 0; i < 500; ++i) {
            count += desk.text(of) == expected ? 0 : 1;
        }
    };
    int first = 0;
    int second = 0;
    std::thread other([&] { wrong(none, without, second); });
    wrong(all, with, first);
    other.join();
    EXPECT_EQ(first + second, 0);
}

}  // namespace
}  // namespace tollgate

// Tests of reading and writing events and outcomes as JSON: each rule of the API's body, each bad
// input named.
#include "decision/event_json.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tollgate {
namespace {

Schema schema() {
    return {{{"home_country", AttributeType::kString, false},
             {"age_days", AttributeType::kInteger, false},
             {"ratio", AttributeType::kDecimal, false},
             {"new_payee", AttributeType::kBoolean, false},
             {"opened_at", AttributeType::kTimestamp, false},
             {"income", AttributeType::kMoney, true}},
            {"memo"}};
}

Result<Event> read(const std::string& text) {
    JsonDocument document;
    TG_TRY(const JsonValue json, document.parse(text));
    return parse_event(json, schema());
}

std::string write(const Event& event) {
    std::string out;
    JsonWriter writer(out);
    append_event(writer, event, schema());
    return out;
}

const std::string kFull =
    R"({"event_id":"tx-81","event_type":"payment","occurred_at":"2026-11-30T08:15:30.123Z",)"
    R"("account_id":"A-17","amount":{"value":"125.40","currency":"USD"},)"
    R"("counterparty":{"id":"T-9","kind":"terminal","category":"5411","country":"KR"},)"
    R"("channel":"ecom","device":{"id":"d1","ip_country":"KR"},"memo":"free\ntext",)"
    R"("parent_id":"tx-80","attributes":{"age_days":41,"home_country":"KR","income":"900.00",)"
    R"("new_payee":true,"opened_at":"2020-01-01T00:00:00Z","ratio":"0.35"}})";

// The smallest event with one piece replaced.
std::string with(const std::string& from, const std::string& to) {
    std::string text =
        R"({"event_id":"e","event_type":"transfer","occurred_at":"2026-11-30T08:15:30Z",)"
        R"("account_id":"A","amount":{"value":"1.00","currency":"USD"}})";
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}
std::string adding(const std::string& members) {
    return with("}}", "}," + members + "}");
}

TEST(EventJson, FullEventIsReadAndWrittenInCanonicalForm) {
    const Event event = read(kFull).value_or_die();
    EXPECT_EQ(event.amount, (Money{12540, Currency{840}}));
    EXPECT_EQ(event.counterparty->country, "KR");
    EXPECT_EQ(event.memo, "free\ntext");
    EXPECT_EQ(event.attributes[2]->number, 350'000);
    EXPECT_EQ(event.attributes[5]->number, 90'000);
    EXPECT_EQ(write(event), kFull);
}

TEST(EventJson, OrderOfMembersBlanksAndOffsetsDoNotChangeTheCanonicalForm) {
    const Event event =
        read(R"( {"attributes":{"age_days":null},"device":{"id":null},"counterparty":{},"memo":null,
        "amount":{"currency":"USD","value":"1"},"account_id":"A","occurred_at":
        "2026-11-30T17:15:30+09:00","event_type":"transfer","event_id":"e"} )")
            .value_or_die();
    EXPECT_EQ(event, read(with("A", "A")).value_or_die());
    EXPECT_EQ(write(event), with("A", "A"));
}

TEST(EventJson, NamesEachRequiredFieldThatIsAbsent) {
    for (const char* name : {"event_id", "event_type", "occurred_at", "account_id", "amount"}) {
        const auto got = read(with("\"" + std::string(name) + "\"", "\"memo\""));
        ASSERT_FALSE(got) << name;
        // "memo" takes the place of the name: the absent field is named, not the memo.
        EXPECT_EQ(got.error().message.rfind(name, 0), 0U) << got.error().message;
    }
    EXPECT_EQ(read(with(R"("value":"1.00",)", "")).error().message, "amount.value is required");
    EXPECT_EQ(read(with(R"(,"currency":"USD")", "")).error().message,
              "amount.currency is required");
    EXPECT_FALSE(read(with(R"("account_id":"A")", R"("account_id":null)")));
}

struct Bad {
    std::string text;
    std::string path;  // the message begins with it
};

TEST(EventJson, NamesTheFieldOfEachBadValue) {
    const std::string long_id(129, 'x');
    const std::vector<Bad> cases{
        {"[]", "the body must be an object"},
        {"42", "the body must be an object"},
        {"null", "the body must be an object"},
        {with("\"e\"", "\"\""), "event_id has 0 bytes"},
        {with("\"e\"", "\"" + long_id + "\""), "event_id has 129 bytes, allowed are 1 to 128"},
        {with("\"e\"", "7"), "event_id must be a string, not a number"},
        {with("\"e\"", R"("a\u0000b")"), "event_id"},
        {with("\"A\"", R"("a\nb")"), "account_id"},
        {with("transfer", "transfers"), "event_type \"transfers\" is not one of payment"},
        {with("2026-11-30T08:15:30Z", "20000-01-01T00:00:00Z"), "occurred_at"},
        {with("2026-11-30T08:15:30Z", "2026-11-30T08:15:30"), "occurred_at"},
        {with("2026-11-30T08:15:30Z", "1969-12-31T23:59:59Z"), "occurred_at"},
        {with("\"2026-11-30T08:15:30Z\"", "1764490530"), "occurred_at must be"},
        {with("\"1.00\"", "1.00"), "amount.value must be a decimal string"},
        {with("\"1.00\"", "true"), "amount.value must be a decimal string"},
        {with("\"1.00\"", "[5]"), "amount.value must be a decimal string"},
        {with("1.00", "-0.01"), "amount.value \"-0.01\" must not be negative"},
        {with("1.00", "1e3"), "amount.value"},
        {with("1.00", " 100 "), "amount.value"},
        {with("1.00", "NaN"), "amount.value"},
        {with("1.00", "85.64999999999999"), "amount.value"},
        {with("1.00", "90071992547409930.00"), "amount.value"},
        {with("USD", "usd"), "amount.currency \"usd\" is not an active ISO 4217"},
        {with("USD", "QQQ"), "amount.currency"},
        {with("\"USD\"", "840"), "amount.currency must be a string"},
        {with("\"currency\"", "\"currancy\""),
         "amount.currancy is not a field of amount (did you mean \"currency\"?)"},
        {with(R"({"value":"1.00","currency":"USD"})", R"("1.00 USD")"), "amount must be an object"},
        {adding(R"("acount_id":"A")"),
         "acount_id is not a field of an event (did you mean \"account_id\"?)"},
        {adding(R"("tenant":"other")"), "tenant is not a field"},
        {adding(R"("counterparty":"T-9")"), "counterparty must be an object"},
        {adding(R"("counterparty":{"country":"kr"})"), "counterparty.country"},
        {adding(R"("counterparty":{"country":"KOR"})"), "counterparty.country"},
        {adding(R"("counterparty":{"id":""})"), "counterparty.id"},
        {adding(R"("counterparty":{"contry":"KR"})"),
         "counterparty.contry is not a field of counterparty"},
        {adding(R"("counterparty":{"category":"123456789012345678901234567890123"})"),
         "counterparty.category has 33"},
        {adding(R"("device":{"ip_country":1})"), "device.ip_country"},
        {adding(R"("channel":"")"), "channel has 0"},
        {adding(R"("memo":")" + std::string(4097, 'm') + "\""), "memo has 4097 bytes"},
        {adding(R"("parent_id":5)"), "parent_id must be a string"},
        {adding(R"("attributes":[])"), "attributes must be an object"},
        {adding(R"("attributes":{"homecountry":"KR"})"),
         "attributes.homecountry is not a field of the policy's attributes (did you mean "
         "\"home_country\"?)"},
        {adding(R"("attributes":{"age_days":"41"})"),
         "attributes.age_days must be a whole number, not a string"},
        {adding(R"("attributes":{"age_days":41.5})"), "attributes.age_days"},
        {adding(R"("attributes":{"age_days":18446744073709551615})"),
         "attributes.age_days is beyond"},
        {adding(R"("attributes":{"ratio":0.35})"), "attributes.ratio must be a decimal string"},
        {adding(R"("attributes":{"ratio":"0.1234567"})"), "attributes.ratio"},
        {adding(R"("attributes":{"ratio":"1/3"})"), "attributes.ratio"},
        {adding(R"("attributes":{"ratio":"1000000000001"})"), "attributes.ratio"},
        {adding(R"("attributes":{"ratio":9000000000000000000})"), "attributes.ratio"},
        {adding(R"("attributes":{"new_payee":"true"})"), "attributes.new_payee must be a boolean"},
        {adding(R"("attributes":{"opened_at":"yesterday"})"), "attributes.opened_at"},
        {adding(R"("attributes":{"income":"1.234"})"), "attributes.income"},
        {adding(R"("attributes":{"home_country":")" + std::string(257, 'x') + "\"}"),
         "attributes.home_country has 257"},
    };
    for (const Bad& bad : cases) {
        const auto got = read(bad.text);
        ASSERT_FALSE(got) << bad.text;
        EXPECT_EQ(got.error().fault, Fault::kBadInput);
        EXPECT_EQ(got.error().message.rfind(bad.path, 0), 0U) << got.error().message;
    }
}

TEST(EventJson, RefusesWhatIsNotJsonOrTwoThingsInOne) {
    for (const std::string& text :
         {with("\"e\"", R"("\ud800")"), with("\"e\"", "\"\xC3\x28\""), with("\"1.00\"", "NaN"),
          with("\"1.00\"", "1e999"), adding(R"("memo":"a","memo":"b")"),
          adding(R"("attributes":)" + std::string(100'000, '[') + std::string(100'000, ']'))}) {
        EXPECT_FALSE(read(text));
    }
}

TEST(EventJson, ZeroAmountsAreLegalAndDigitsFollowTheCurrency) {
    EXPECT_EQ(read(with("1.00", "0")).value_or_die().amount.minor_units, 0);
    const std::string yen = with(R"("1.00","currency":"USD")", R"("6000","currency":"JPY")");
    EXPECT_EQ(read(yen).value_or_die().amount.minor_units, 6000);
    EXPECT_FALSE(read(with(R"("1.00","currency":"USD")", R"("60.00","currency":"JPY")")));
    const std::string dinar = with(R"("1.00","currency":"USD")", R"("6","currency":"KWD")");
    EXPECT_EQ(read(dinar).value_or_die().amount.minor_units, 6000);
}

TEST(EventJson, DecimalAttributesAreExact) {
    for (const auto& [text, micro] : std::vector<std::pair<std::string, std::int64_t>>{
             {"7", 7'000'000},
             {"\"-0.000001\"", -1},
             {"\"1000000000000\"", 1'000'000'000'000'000'000}}) {
        const auto event = read(adding(R"("attributes":{"ratio":)" + text + "}"));
        ASSERT_TRUE(event) << event.error().message;
        EXPECT_EQ(event->attributes[2]->number, micro);
        EXPECT_EQ(read(write(*event)).value_or_die(), *event);
    }
}

TEST(EventJson, RandomEventsRoundTrip) {
    std::mt19937 random(11);
    const auto text = [&](std::size_t most) {
        std::string out;
        const std::size_t size = 1 + random() % most;
        while (out.size() < size) {
            out += static_cast<char>(' ' + static_cast<int>(random() % 95));
        }
        return out;
    };
    const auto maybe = [&](std::size_t most) {
        return random() % 2 == 0 ? std::optional(text(most)) : std::nullopt;
    };
    for (int i = 0; i < 2'000; ++i) {
        Event event;
        event.event_id = text(128);
        event.type = static_cast<EventType>(random() % 3);
        event.occurred_at = from_micros(static_cast<std::int64_t>(random()) * 1'000'003);
        event.account_id = text(128);
        event.amount = {static_cast<std::int64_t>(random()),
                        currency_of(i % 2 == 0 ? "EUR" : "JPY").value_or_die()};
        event.channel = maybe(32);
        event.memo = maybe(4096);
        event.parent_id = maybe(128);
        if (random() % 2 == 0) {
            event.counterparty = Counterparty{text(128), maybe(32), maybe(32), "DE"};
        }
        if (random() % 2 == 0) {
            event.device = Device{maybe(128), "FR"};
        }
        event.attributes.resize(schema().attributes.size());
        for (std::size_t a = 0; a < event.attributes.size(); ++a) {
            const AttributeType type = schema().attributes[a].type;
            if (random() % 2 == 0) {
                continue;
            }
            event.attributes[a] = AttributeValue{type, {}, 0};
            if (type == AttributeType::kString) {
                event.attributes[a]->text = text(256);
            } else {
                event.attributes[a]->number = type == AttributeType::kBoolean
                                                  ? static_cast<std::int64_t>(random() % 2)
                                                  : static_cast<std::int64_t>(random());
            }
        }
        const auto back = read(write(event));
        ASSERT_TRUE(back) << back.error().message << write(event);
        EXPECT_EQ(*back, event);
    }
}

TEST(OutcomeJson, IsReadWrittenAndRefusedByField) {
    const auto read_outcome = [](const std::string& text) -> Result<Outcome> {
        JsonDocument document;
        TG_TRY(const JsonValue json, document.parse(text));
        return parse_outcome(json);
    };
    const std::string text =
        R"({"outcome_id":"o-1","event_id":"tx-81","label":"fraud","kind":"chargeback",)"
        R"("known_at":"2026-12-02T00:00:00Z","note":"card ring"})";
    const Outcome outcome = read_outcome(text).value_or_die();
    EXPECT_EQ(outcome.label, Label::kFraud);
    EXPECT_EQ(outcome.kind, OutcomeKind::kChargeback);
    std::string out;
    JsonWriter writer(out);
    append_outcome(writer, outcome);
    EXPECT_EQ(out, text);

    const auto message = [&](const std::string& from, const std::string& to) {
        std::string changed = text;
        changed.replace(changed.find(from), from.size(), to);
        const auto got = read_outcome(changed);
        return got ? std::string("accepted") : got.error().message;
    };
    EXPECT_EQ(
        message("\"fraud\"", "\"none\"").rfind("label \"none\" is not one of fraud, legit", 0), 0U);
    EXPECT_EQ(message("chargeback", "charge").rfind("kind", 0), 0U);
    EXPECT_EQ(message("known_at", "knownat").rfind("knownat is not a field of an outcome", 0), 0U);
    EXPECT_EQ(message("2026-12-02T00:00:00Z", "20000-01-01T00:00:00Z").rfind("known_at", 0), 0U);
    EXPECT_EQ(message("card ring", std::string(1025, 'n')).rfind("note has 1025", 0), 0U);
    EXPECT_EQ(message("\"o-1\"", "null"), "outcome_id is required");
}

}  // namespace
}  // namespace tollgate

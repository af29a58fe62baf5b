// Tests of records: byte-equal writing, reading back with and without personal values, corruption,
// exact numbers.
#include "decision/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include "decision/event_json.h"
#include "decision/record_value.h"

namespace tollgate {
namespace {

std::unique_ptr<const PolicyPack> make_pack() {
    std::vector<Diagnostic> found;
    return load_pack({{"policy.toml", R"([pack]
name = "t"
currency = "USD"
[attributes.income]
type = "money"
personal = true
[attributes.country]
type = "string"
[privacy]
personal = ["memo", "account_id", "device.ip_country"]
)"},
                      {"rules/card.rules",
                       R"(ruleset "card" version 1  currency USD  tz "UTC"  on_error review
window n count() by account_id over 10m excluding current
window avg30 avg(amount) by account_id over 30d excluding current
window inc last(attributes.income) by account_id over 30d excluding current
rule R001 "burst" severity high owner "ops"
  decline if n >= 5
  reason "5 or more"
rule R002 "large" severity high owner "ops"
  review if amount > 3 * avg30
  reason "large"
)"}},
                     found)
        .value_or_die();
}

class Records : public ::testing::Test {
  protected:
    Records() : pack_(make_pack()) {
        event_.event_id = "tx-1";
        event_.occurred_at = from_micros(1'764'547'200'123'000);
        event_.account_id = "A-17";
        event_.amount = {12'540, Currency{840}};
        event_.device = Device{"d1", "KR"};
        event_.memo = "for the \"boat\"\n";
        event_.attributes = {AttributeValue{AttributeType::kString, "KR", 0},
                             AttributeValue{AttributeType::kMoney, {}, 90'000}};
        windows_.values = {Value::of_int(5), Value::of_money({1'254, 7}),
                           Value::of_money({90'000, 1})};
        rules_.hits[rules_.hit_count++] = 0;
        rules_.unknown[rules_.unknown_count++] = 1;
        provenance_ = {"1.0", pack_->hash, "", "", "none"};
    }
    RecordInput input() const {
        return {.tenant = "bank",
                .pack = pack_.get(),
                .event = &event_,
                .arrival = 7,
                .windows = &windows_,
                .rules = &rules_,
                .admission = Admission::kLate,
                .fault = "timeout",
                .probability = 0.1F,
                .encoded = EncodedSize{26, 3},
                .limit_sequence = 918,
                .combined = {Verdict::kDecline, DecidedBy::kRule, 0},
                .source = "rules",
                .provenance = &provenance_};
    }
    std::unique_ptr<const PolicyPack> pack_;
    Event event_;
    WindowValues windows_;
    RuleResults rules_;
    Provenance provenance_;
};

TEST_F(Records, SameInputGivesSameBytesAndPersonalValuesAreNotInThem) {
    const SaltFn salts = derived_salts("s");
    const Sealed a = make_assessment_record(input(), salts);
    const Sealed b = make_assessment_record(input(), salts);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.personal, b.personal);
    for (const char* secret : {"A-17", "boat", "\"ip_country\":\"KR\"", "900.00", "90000"}) {
        EXPECT_EQ(a.text.find(secret), std::string::npos) << secret;
    }
    for (
        const char* shown :
        {R"("kind":"assessment","tenant":"bank","policy":")", R"("arrival":7,"admission":"late")",
         R"("n":"5","avg30":"1254/7","inc":"sha256:)", R"("hits":["R001"],"unknown":["R002"])",
         R"("fault":"timeout","probability_bits":1036831949,"encoder":{"tokens":26,"cut":3},"limit_sequence":918)",
         R"("decision":"decline","decided_by":"rule:R001","source":"rules")",
         R"("country":"KR","income":"sha256:)"}) {
        EXPECT_NE(a.text.find(shown), std::string::npos) << shown << "\n" << a.text;
    }
    EXPECT_NE(make_assessment_record(input(), random_salt).text, a.text);
}

TEST_F(Records, AssessmentIsReadBackWithItsPersonalValues) {
    const Sealed sealed = make_assessment_record(input(), random_salt);
    const RecordHead head = parse_record_head(sealed.text).value_or_die();
    EXPECT_EQ(head.kind, RecordKind::kAssessment);
    EXPECT_EQ(head.tenant, "bank");
    EXPECT_EQ(head.policy, pack_->hash);
    const Record record = parse_record(sealed.text, sealed.personal, pack_.get()).value_or_die();
    ASSERT_TRUE(record.assessment);
    const AssessmentRecord& back = *record.assessment;
    EXPECT_EQ(back.event, event_);
    EXPECT_EQ(back.arrival, 7U);
    EXPECT_EQ(back.admission, Admission::kLate);
    ASSERT_EQ(back.windows.size(), 3U);
    EXPECT_EQ(compare(back.windows[1].number, {1'254, 7}), std::strong_ordering::equal);
    EXPECT_EQ(back.windows[1].kind, ValueKind::kMoney);
    EXPECT_EQ(back.windows[2].number.num, 90'000);
    EXPECT_EQ(back.hits, std::vector<std::string>{"R001"});
    EXPECT_EQ(back.probability, 0.1F);
    EXPECT_EQ(back.encoded, (EncodedSize{26, 3}));
    EXPECT_EQ(back.limit_sequence, 918U);
    EXPECT_FALSE(back.block_sequence);
    EXPECT_EQ(back.decision, Verdict::kDecline);
    EXPECT_EQ(back.decided_by, "rule:R001");
    EXPECT_EQ(back.provenance, provenance_);
    EXPECT_TRUE(record.redacted.empty());
    // A re-computation with the old salts writes the same bytes.
    const SaltFn old = sidecar_salts(sealed.personal).value_or_die();
    EXPECT_EQ(make_assessment_record(input(), old).text, sealed.text);
}

TEST_F(Records, ErasedValuesLeaveIdsAsHashesAndNameTheRest) {
    const Sealed sealed = make_assessment_record(input(), random_salt);
    const Record record = parse_record(sealed.text, "", pack_.get()).value_or_die();
    EXPECT_EQ(record.assessment->event.account_id.rfind("sha256:", 0), 0U);
    EXPECT_FALSE(record.assessment->event.memo);
    EXPECT_FALSE(record.assessment->event.device->ip_country);
    EXPECT_EQ(record.assessment->event.device->id, "d1");
    EXPECT_FALSE(record.assessment->event.attributes[1]);
    EXPECT_TRUE(record.assessment->windows[2].is_unknown());
    EXPECT_EQ(record.redacted.size(), 5U);
}

TEST_F(Records, ForgedPersonalValuesCutTextsAndWrongPacksAreCorrupt) {
    const Sealed sealed = make_assessment_record(input(), random_salt);
    std::string forged = sealed.personal;
    forged.replace(forged.find("A-17"), 4, "A-18");
    EXPECT_EQ(parse_record(sealed.text, forged, pack_.get()).error().fault, Fault::kCorrupt);
    for (std::size_t size = 0; size < sealed.text.size(); size += 7) {
        EXPECT_EQ(
            parse_record(sealed.text.substr(0, size), sealed.personal, pack_.get()).error().fault,
            Fault::kCorrupt);
    }
    EXPECT_EQ(parse_record(sealed.text, sealed.personal, nullptr).error().fault, Fault::kCorrupt);
    EXPECT_FALSE(parse_record(sealed.text, "{\"memo\":1}", pack_.get()));
    std::mt19937 random(5);
    for (int i = 0; i < 2'000; ++i) {
        std::string text = sealed.text;
        text[random() % text.size()] = static_cast<char>(random());
        (void)parse_record(text, sealed.personal,
                           pack_.get());  // any bytes: a result, never a crash
    }
}

TEST_F(Records, OtherKindsRoundTrip) {
    const Outcome outcome{
        "o-1", "tx-1", Label::kFraud, OutcomeKind::kChargeback, event_.occurred_at, "called in"};
    const Sealed sealed = make_outcome_record("bank", outcome, random_salt);
    EXPECT_EQ(sealed.text.find("called"), std::string::npos);
    EXPECT_EQ(parse_record(sealed.text, sealed.personal, nullptr).value_or_die().outcome, outcome);
    EXPECT_EQ(parse_record(sealed.text, "", nullptr).value_or_die().outcome->note, "");

    const AccountChange change{
        .account_id = "A-17", .amount = Money{1, Currency{840}}, .set_by = "an_1", .sequence = 9};
    const Sealed account = make_account_record("bank", change, pack_->schema(), random_salt);
    EXPECT_EQ(account.text.find("A-17"), std::string::npos);
    EXPECT_EQ(parse_record(account.text, account.personal, nullptr).value_or_die().account, change);
    EXPECT_EQ(parse_record(account.text, "", nullptr).value_or_die().redacted,
              std::vector<std::string>{"account_id"});

    const PolicyActivation activation{pack_->hash, "ana", event_.occurred_at};
    const Sealed policy = make_policy_record("bank", activation);
    EXPECT_EQ(parse_record(policy.text, "", nullptr).value_or_die().policy, activation);
    EXPECT_TRUE(policy.personal.empty());

    const Sealed import = make_import_record("bank", *pack_, event_, 3, nullptr, random_salt);
    const Record back = parse_record(import.text, import.personal, pack_.get()).value_or_die();
    EXPECT_EQ(back.head.kind, RecordKind::kImport);
    EXPECT_EQ(back.assessment->event, event_);
    EXPECT_EQ(back.assessment->arrival, 3U);
}

TEST_F(Records, NothingEvaluatedIsNull) {
    RecordInput bare = input();
    bare.windows = nullptr;
    bare.rules = nullptr;
    bare.probability = std::nullopt;
    bare.source = "default";
    bare.combined = {};
    const Sealed sealed = make_assessment_record(bare, random_salt);
    const Record record = parse_record(sealed.text, sealed.personal, pack_.get()).value_or_die();
    EXPECT_FALSE(record.assessment->has_windows);
    EXPECT_FALSE(record.assessment->probability);
    EXPECT_TRUE(record.assessment->hits.empty());
    EXPECT_EQ(record.assessment->decided_by, "default");
}

TEST(RecordValue, NumbersOfEverySizeReadBackExactly) {
    std::mt19937_64 random(9);
    for (int i = 0; i < 20'000; ++i) {
        Number n;
        n.num = (static_cast<Int128>(random() >> (random() % 64)) << (random() % 60)) *
                (i % 2 == 0 ? 1 : -1);
        n.den = i % 3 == 0 ? 1 : static_cast<std::int64_t>(1 + (random() >> (1 + random() % 62)));
        const auto back = read_exact(to_text(n));
        ASSERT_TRUE(back) << to_text(n);
        ASSERT_EQ(compare(*back, n), std::strong_ordering::equal) << to_text(n);
    }
    for (const char* text :
         {"", "-", "1/", "/2", "1/0", "1.", "1.2.3", "1/2/3", "1e3", "+1", " 1",
          "999999999999999999999999999999999999999999", "1/9999999999999999999999"}) {
        EXPECT_FALSE(read_exact(text)) << text;
    }
}

TEST(RecordValue, StringsUnknownAndErrorsReadBack) {
    const auto round_trip = [](const Value& value) {
        std::string text;
        JsonWriter writer(text);
        append_value(writer, value);
        JsonDocument document;
        return read_value(document.parse(text).value_or_die(), value.kind).value_or_die();
    };
    const std::string long_text(40, 'x');
    EXPECT_EQ(round_trip(Value::of_string("KR")).key, make_string_key("KR"));
    EXPECT_EQ(round_trip(Value::of_string(long_text)).key, make_string_key(long_text));
    EXPECT_TRUE(round_trip(Value::unknown()).is_unknown());
    EXPECT_TRUE(round_trip(Value::error()).is_error());
    EXPECT_TRUE(round_trip(Value::of_bool(true)).is_true());
}

}  // namespace
}  // namespace tollgate

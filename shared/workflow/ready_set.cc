#include "shared/workflow/ready_set.h"

#include <bit>

#include "shared/base/json_text.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

ReadySet::ReadySet(const Document& state, int total, std::string prefix) : state_(state), prefix_(std::move(prefix)) {
  for (int words = (total + 31) / 32; words > 1; words = (words + 31) / 32) ++levels_;
}

std::string ReadySet::Key(int level, int word) const {
  std::string key = prefix_;
  AppendInteger(level, key);
  key += '/';
  AppendInteger(word, key);
  return key;
}

void ReadySet::Put(int level, int word, std::uint32_t bits) {
  for (Changed& changed : changed_) {
    if (changed.level == level && changed.word == word) {
      changed.bits = bits;
      return;
    }
  }
  changed_.push_back({level, word, bits});
}

std::uint32_t ReadySet::Word(int level, int word) const {
  for (const Changed& changed : changed_) {
    if (changed.level == level && changed.word == word) return changed.bits;
  }
  const Json* json = Lookup(state_, Key(level, word));
  return json && json->is_number_integer() ? std::uint32_t(json->get<std::int64_t>()) : 0;
}

bool ReadySet::Has(int position) const { return position >= 0 && (Word(0, position / 32) >> (position % 32) & 1u) != 0; }

std::optional<int> ReadySet::Next(int from) const {
  int level = 0;
  int at = from < 0 ? 0 : from;  // position in units of this level's bits
  for (;;) {
    std::uint32_t bits = Word(level, at / 32) & (~0u << (at % 32));
    if (bits != 0) {
      at = at / 32 * 32 + std::countr_zero(bits);
      if (level == 0) return at;
      --level;
      at *= 32;  // the whole word below: its first bit
    } else {
      at = at / 32 + 1;  // the next word, asked of the level above
      if (++level >= levels_) return std::nullopt;
    }
  }
}

void ReadySet::Insert(int position) {
  int at = position;
  for (int level = 0; level < levels_; ++level) {
    std::uint32_t before = Word(level, at / 32);
    Put(level, at / 32, before | (1u << (at % 32)));
    if (before != 0) return;
    at /= 32;
  }
}

void ReadySet::Erase(int position) {
  int at = position;
  for (int level = 0; level < levels_; ++level) {
    std::uint32_t after = Word(level, at / 32) & ~(1u << (at % 32));
    Put(level, at / 32, after);
    if (after != 0) return;
    at /= 32;
  }
}

void ReadySet::AppendTo(Delta& delta) const {
  for (const auto& [level, word, bits] : changed_) {
    const std::string key = Key(level, word);
    const Json* before = state_.Find(key);
    if (bits != 0) {
      if (!before || !before->is_number_integer() || before->get<std::int64_t>() != std::int64_t(bits)) delta.Add(key, bits);
    } else if (before) {
      delta.Remove(key);
    }
  }
}

}  // namespace acl::workflow

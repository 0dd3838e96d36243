#include "ridgeline/data/source/part_names.h"

#include <algorithm>
#include <array>

#include "ridgeline/core/ascii.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/joined_names.h"
#include "ridgeline/core/unicode_forms.h"

namespace ridgeline::data {
namespace {

constexpr std::array kWords = {
    PartWord{"train", PartKind::train, 0},    PartWord{"training", PartKind::train, 1},
    PartWord{"val", PartKind::val, 0},        PartWord{"valid", PartKind::val, 1},
    PartWord{"validation", PartKind::val, 2}, PartWord{"dev", PartKind::val, 3},
    PartWord{"eval", PartKind::val, 4},       PartWord{"test", PartKind::test, 0},
    PartWord{"testing", PartKind::test, 1},
};

// Other words for splits: they are reported, and never silently taken for splits.
constexpr std::string_view kOtherWords[] = {
    "trainset", "trainingset", "trainval", "valset", "validset", "validationset", "devset", "evaluation", "holdout",
    "testset", "testingset",
    // Spanish, Portuguese, French, German, Italian, Dutch, Polish, Turkish, Russian, Chinese, Japanese, Korean.
    "entrenamiento", "prueba", "pruebas", "validación", "treino", "treinamento", "teste", "testes", "validação",
    "entrainement", "entraînement", "apprentissage", "essai", "trainingsdaten", "testdaten", "validierung",
    "validierungsdaten", "addestramento", "allenamento", "prova", "validazione", "validatie", "treningowy", "testowy",
    "walidacja", "eğitim", "doğrulama", "обучение", "обучающая", "тренировка", "тест", "тестовая", "валидация", "训练",
    "训练集", "验证", "验证集", "测试", "测试集", "訓練", "検証", "学習", "テスト", "훈련", "검증", "테스트"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; }

// Runs of letters, in lower case and their marks apart.
std::vector<std::string> letters_of(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : decomposed(lower_ascii(name))) {
    if (is_letter(c)) {
      if (!inside) words.emplace_back();
      words.back() += c;
    }
    inside = is_letter(c);
  }
  return words;
}

std::optional<PartWord> word_named(std::string_view lower) {
  const auto* found = std::find_if(kWords.begin(), kWords.end(), [&](const PartWord& w) { return w.word == lower; });
  return found == kWords.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::string_view name_of(PartKind kind) {
  switch (kind) {
    case PartKind::train: return "train";
    case PartKind::val: return "val";
    case PartKind::test: return "test";
  }
  throw InternalError("a part without a name");
}

std::optional<PartWord> part_named(std::string_view name) { return word_named(lower_ascii(name)); }

std::optional<PartWord> part_in(std::string_view file_name) {
  std::optional<PartWord> found;
  for (const std::string& word : letters_of(file_name)) {
    if (const auto part = word_named(word)) found = part;
  }
  return found;
}

std::string part_words() {
  return joined_names(kWords, [](const PartWord& w) { return w.word; });
}

bool speaks_of_part(std::string_view name) {
  if (part_named(name)) return false;
  if (part_in(name)) return true;
  const std::vector<std::string> words = letters_of(name);
  return std::any_of(std::begin(kOtherWords), std::end(kOtherWords), [&](std::string_view other) {
    const std::string wanted = decomposed(other);
    return std::find(words.begin(), words.end(), wanted) != words.end();
  });
}

}  // namespace ridgeline::data

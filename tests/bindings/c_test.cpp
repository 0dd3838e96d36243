// The C interface, used only through its header: batches, states, memory and DLPack, and an error for every misuse.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bindings/c/ridgeline_data.h"
#include "bindings/c/src/dlpack.h"
#include "tests/data/helpers.h"

namespace ridgeline::data::testing {
namespace {

using c::DlManaged;

#define EXPECT_OK(call) EXPECT_EQ(call, RIDGELINE_OK) << ridgeline_last_error()
#define EXPECT_REFUSED(call, status, part)                                                                  \
  do {                                                                                                      \
    EXPECT_EQ(call, status);                                                                                \
    EXPECT_NE(std::string(ridgeline_last_error()).find(part), std::string::npos) << ridgeline_last_error(); \
  } while (false)

template <class Ask>
std::string text_of(Ask&& ask) {
  std::size_t size = 0;
  EXPECT_EQ(ask(nullptr, 0, &size), RIDGELINE_OK) << ridgeline_last_error();
  std::string text(size + 1, '?');
  EXPECT_EQ(ask(text.data(), text.size(), nullptr), RIDGELINE_OK) << ridgeline_last_error();
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  return text;
}

std::string state_of(ridgeline_iterator* it) {
  return text_of([&](char* b, std::size_t n, std::size_t* s) { return ridgeline_iterator_state(it, b, n, s); });
}

struct C : ::testing::Test {
  TempDir dir;
  std::string folder = write_folders(dir / "train", 3, 7);

  Dataset pipeline() const {
    return ImageFolder(folder).shuffle().map(RandomResizedCrop(16), Normalize::imagenet()).batch(4).with_seed(5);
  }
  static ridgeline_dataset* made(const std::string& json) {
    ridgeline_dataset* dataset = nullptr;
    EXPECT_OK(ridgeline_dataset_from_json(json.c_str(), &dataset));
    return dataset;
  }
  ridgeline_dataset* made() const { return made(pipeline().to_json()); }
  static ridgeline_iterator* run(ridgeline_dataset* dataset, const ridgeline_options* options = nullptr) {
    ridgeline_iterator* it = nullptr;
    EXPECT_OK(ridgeline_iterator_create(dataset, options, &it));
    return it;
  }
  static ridgeline_options options() {
    ridgeline_options o;
    EXPECT_OK(ridgeline_options_init(&o));
    return o;
  }
  static ridgeline_batch* next(ridgeline_iterator* it) {
    ridgeline_batch* batch = nullptr;
    EXPECT_OK(ridgeline_iterator_next(it, -1, &batch));
    return batch;
  }
  // A digest of all columns of the remaining batches.
  static std::uint64_t digest_of(ridgeline_iterator* it) {
    std::uint64_t seed = 0;
    ridgeline_batch* batch = nullptr;
    ridgeline_status status = RIDGELINE_OK;
    while ((status = ridgeline_iterator_next(it, -1, &batch)) == RIDGELINE_OK) {
      ridgeline_batch_info info;
      EXPECT_OK(ridgeline_batch_get_info(batch, &info));
      for (std::size_t i = 0; i < info.columns; ++i) {
        ridgeline_column column;
        EXPECT_OK(ridgeline_batch_column_at(batch, i, &column));
        seed = hash64({static_cast<const char*>(column.data), column.bytes}, seed);
      }
      EXPECT_OK(ridgeline_batch_free(batch));
    }
    EXPECT_EQ(status, RIDGELINE_END) << ridgeline_last_error();
    return seed;
  }
};

TEST_F(C, BatchesAreThoseOfTheEngine) {
  Iterator expected(pipeline(), {.epochs = 2, .pad_last = false});
  const std::uint64_t digest_expected = digest(expected);
  ridgeline_dataset* dataset = made();
  ridgeline_options o = options();
  o.epochs = 2;
  for (const int workers : {1, 3}) {
    o.workers = workers;
    ridgeline_iterator* it = run(dataset, &o);
    EXPECT_EQ(digest_of(it), digest_expected);
    EXPECT_OK(ridgeline_iterator_free(it));
  }
  o.workers = 0;
  o.pull = 1;
  ridgeline_iterator* it = run(dataset, &o);
  EXPECT_OK(ridgeline_dataset_free(dataset));  // the run does not need the dataset
  EXPECT_EQ(digest_of(it), digest_expected);
  EXPECT_OK(ridgeline_iterator_free(it));
}

TEST_F(C, ADatasetTellsWhatItIs) {
  ridgeline_dataset* dataset = made();
  const auto json =
      text_of([&](char* b, std::size_t n, std::size_t* s) { return ridgeline_dataset_to_json(dataset, b, n, s); });
  EXPECT_EQ(json, pipeline().to_json());
  std::uint64_t hash = 0;
  EXPECT_OK(ridgeline_dataset_hash(dataset, &hash));
  EXPECT_EQ(hash, pipeline().hash());
  std::int64_t number = 0;
  EXPECT_OK(ridgeline_dataset_size(dataset, &number));
  EXPECT_EQ(number, 6);
  EXPECT_OK(ridgeline_dataset_num_samples(dataset, &number));
  EXPECT_EQ(number, 21);
  EXPECT_OK(ridgeline_dataset_num_classes(dataset, &number));
  EXPECT_EQ(number, 3);
  const auto name = [&](std::int64_t label) {
    return text_of(
        [&](char* b, std::size_t n, std::size_t* s) { return ridgeline_dataset_class_name(dataset, label, b, n, s); });
  };
  EXPECT_EQ(name(1), "class_b");
  EXPECT_REFUSED(ridgeline_dataset_class_name(dataset, 3, nullptr, 0, nullptr), RIDGELINE_USAGE, "label 3");
  const auto page = text_of(ridgeline_reference_page);
  EXPECT_NE(page.find("random_resized_crop"), std::string::npos);
  EXPECT_STREQ(ridgeline_dtype_name(RIDGELINE_BF16), "bf16");
  EXPECT_EQ(ridgeline_dtype_size(RIDGELINE_BF16), 2u);
  EXPECT_EQ(ridgeline_dtype_name(static_cast<ridgeline_dtype>(99)), nullptr);
  EXPECT_EQ(ridgeline_c_abi(), RIDGELINE_C_ABI);
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, ColumnsArePointersWithShapesAndStrides) {
  ridgeline_dataset* dataset = made();
  ridgeline_iterator* it = run(dataset);
  ridgeline_batch* batch = next(it);
  ridgeline_batch_info info;
  EXPECT_OK(ridgeline_batch_get_info(batch, &info));
  EXPECT_EQ(info.rows, 4);
  EXPECT_EQ(info.samples, 4);
  EXPECT_EQ(info.columns, 3u);
  EXPECT_EQ(info.copied, 0);
  EXPECT_LT(info.records[3], 21u);
  ridgeline_column image;
  EXPECT_OK(ridgeline_batch_column(batch, "image", &image));
  EXPECT_EQ(image.dtype, RIDGELINE_F32);
  EXPECT_EQ(std::vector<std::int64_t>(image.shape, image.shape + image.rank),
            (std::vector<std::int64_t>{4, 16, 16, 3}));
  EXPECT_EQ(std::vector<std::int64_t>(image.strides, image.strides + image.rank),
            (std::vector<std::int64_t>{768, 48, 3, 1}));
  EXPECT_EQ(image.bytes, 4 * 768 * 4u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.data) % 64, 0u);
  static_cast<float*>(image.data)[0] = 1;  // may be modified
  EXPECT_REFUSED(ridgeline_batch_column(batch, "imag", &image), RIDGELINE_USAGE, "did you mean 'image'");
  EXPECT_REFUSED(ridgeline_batch_column_at(batch, 3, &image), RIDGELINE_USAGE, "column 3 of 3");
  EXPECT_OK(ridgeline_batch_free(batch));
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, ByteStringsComeRowByRow) {
  ridgeline_dataset* dataset = made(ImageFolder(folder).batch(4).to_json());
  ridgeline_iterator* it = run(dataset);
  ridgeline_batch* batch = next(it);
  ridgeline_column image;
  EXPECT_OK(ridgeline_batch_column(batch, "image", &image));
  EXPECT_EQ(image.dtype, RIDGELINE_BYTES);
  EXPECT_EQ(image.data, nullptr);
  EXPECT_EQ(image.strides, nullptr);
  const char* data = nullptr;
  std::size_t size = 0;
  EXPECT_OK(ridgeline_batch_text(batch, "image", 3, &data, &size));
  ASSERT_GT(size, 3u);
  EXPECT_EQ(std::string(data, 3), "\xff\xd8\xff");
  EXPECT_REFUSED(ridgeline_batch_text(batch, "image", 4, &data, &size), RIDGELINE_USAGE, "row 4 of 4");
  EXPECT_REFUSED(ridgeline_batch_text(batch, "image", -1, &data, &size), RIDGELINE_USAGE, "row -1");
  EXPECT_REFUSED(ridgeline_batch_text(batch, "label", 0, &data, &size), RIDGELINE_USAGE, "holds i32");
  DLManagedTensor* tensor = nullptr;
  EXPECT_REFUSED(ridgeline_batch_dlpack(batch, "image", 0, &tensor), RIDGELINE_USAGE, "byte strings");
  EXPECT_OK(ridgeline_batch_free(batch));
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, ADlpackTensorOutlivesBatchAndIterator) {
  ridgeline_dataset* dataset = made();
  ridgeline_iterator* it = run(dataset);
  ridgeline_batch* batch = next(it);
  ridgeline_column image;
  EXPECT_OK(ridgeline_batch_column(batch, "image", &image));
  const float last = static_cast<const float*>(image.data)[4 * 768 - 1];
  DLManagedTensor *plain = nullptr, *first = nullptr;
  EXPECT_OK(ridgeline_batch_dlpack(batch, "image", 0, &plain));
  EXPECT_OK(ridgeline_batch_dlpack(batch, "image", 1, &first));
  EXPECT_REFUSED(ridgeline_batch_dlpack(batch, "label", 1, &first), RIDGELINE_USAGE, "[N,H,W,C]");
  EXPECT_REFUSED(ridgeline_batch_dlpack(batch, "image", 2, &first), RIDGELINE_USAGE, "channels_first");
  EXPECT_OK(ridgeline_batch_free(batch));
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_OK(ridgeline_dataset_free(dataset));
  auto* held = reinterpret_cast<DlManaged*>(first);
  EXPECT_EQ(held->tensor.data, reinterpret_cast<DlManaged*>(plain)->tensor.data);
  EXPECT_EQ(std::vector<std::int64_t>(held->tensor.shape, held->tensor.shape + 4),
            (std::vector<std::int64_t>{4, 3, 16, 16}));
  EXPECT_EQ(std::vector<std::int64_t>(held->tensor.strides, held->tensor.strides + 4),
            (std::vector<std::int64_t>{768, 1, 48, 3}));
  EXPECT_EQ(held->tensor.type.code, 2);
  EXPECT_EQ(held->tensor.type.bits, 32);
  EXPECT_EQ(held->tensor.device.type, 1);
  EXPECT_EQ(static_cast<const float*>(held->tensor.data)[4 * 768 - 1], last);
  for (DLManagedTensor* tensor : {plain, first}) {
    auto* managed = reinterpret_cast<DlManaged*>(tensor);
    managed->deleter(managed);
  }
}

TEST_F(C, AStateGoesOnInAnotherRun) {
  ridgeline_dataset* dataset = made();
  ridgeline_iterator* it = run(dataset);
  for (int i = 0; i < 2; ++i) EXPECT_OK(ridgeline_batch_free(next(it)));
  const std::string state = state_of(it);
  EXPECT_OK(ridgeline_iterator_save(it, (dir / "state.json").c_str()));
  const std::uint64_t rest = digest_of(it);
  EXPECT_OK(ridgeline_iterator_restore(it, state.c_str()));
  EXPECT_EQ(digest_of(it), rest);
  EXPECT_OK(ridgeline_iterator_load(it, (dir / "state.json").c_str()));
  EXPECT_EQ(digest_of(it), rest);
  EXPECT_OK(ridgeline_iterator_free(it));
  ridgeline_options o = options();
  o.start = state.c_str();
  o.workers = 3;
  it = run(dataset, &o);
  EXPECT_EQ(state_of(it), state);
  EXPECT_EQ(digest_of(it), rest);
  EXPECT_REFUSED(ridgeline_iterator_restore(it, "{}"), RIDGELINE_FAILURE, "state");
  EXPECT_REFUSED(ridgeline_iterator_load(it, (dir / "none.json").c_str()), RIDGELINE_FAILURE, "none.json");
  EXPECT_OK(ridgeline_iterator_free(it));
  ridgeline_dataset* other = made(ImageFolder(folder).batch(3).to_json());
  EXPECT_REFUSED(ridgeline_iterator_create(other, &o, &it), RIDGELINE_FAILURE, "another data graph");
  EXPECT_OK(ridgeline_dataset_free(other));
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

struct Memory {
  std::set<void*> held;
  int given = 0;
};

TEST_F(C, BatchesLieInTheCallersMemory) {
  Memory memory;
  ridgeline_options o = options();
  o.memory_user = &memory;
  o.allocate = [](void* user, std::size_t bytes, std::size_t alignment) {
    auto* m = static_cast<Memory*>(user);
    void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    m->held.insert(p);
    ++m->given;
    return p;
  };
  o.release = [](void* user, void* p) {
    static_cast<Memory*>(user)->held.erase(p);
    std::free(p);
  };
  o.slots = 3;
  ridgeline_dataset* dataset = made();
  ridgeline_iterator* it = run(dataset, &o);
  EXPECT_EQ(memory.given, 3);
  ridgeline_batch* batch = next(it);
  ridgeline_column image;
  EXPECT_OK(ridgeline_batch_column(batch, "image", &image));
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_FALSE(memory.held.empty());  // the tensor keeps the batch's memory
  static_cast<float*>(image.data)[0] = 2;
  EXPECT_OK(ridgeline_batch_free(batch));
  EXPECT_TRUE(memory.held.empty());

  o.allocate = [](void*, std::size_t, std::size_t) -> void* { return nullptr; };
  EXPECT_REFUSED(ridgeline_iterator_create(dataset, &o, &it), RIDGELINE_FAILURE, "allocate has no");
  o.allocate = [](void* user, std::size_t bytes, std::size_t) -> void* {
    auto* p = static_cast<char*>(std::malloc(bytes + 1));
    static_cast<Memory*>(user)->held.insert(p + 1);
    return p + 1;
  };
  o.release = [](void* user, void* p) {
    static_cast<Memory*>(user)->held.erase(p);
    std::free(static_cast<char*>(p) - 1);
  };
  EXPECT_REFUSED(ridgeline_iterator_create(dataset, &o, &it), RIDGELINE_USAGE,
                 "allocate gave memory that is not aligned");
  EXPECT_TRUE(memory.held.empty()) << "what is refused goes back";
  o.release = nullptr;
  EXPECT_REFUSED(ridgeline_iterator_create(dataset, &o, &it), RIDGELINE_USAGE, "come together");
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, KeptBatchesAreCopiesWhereManyAreKept) {
  ridgeline_options o = options();
  o.epochs = 5;
  o.slots = 4;
  ridgeline_dataset* dataset = made();
  ridgeline_iterator* it = run(dataset, &o);
  std::vector<ridgeline_batch*> kept;
  int copies = 0;
  for (int i = 0; i < 30; ++i) {
    kept.push_back(next(it));
    ridgeline_batch_info info;
    EXPECT_OK(ridgeline_batch_get_info(kept.back(), &info));
    copies += info.copied;
  }
  EXPECT_EQ(copies, 28);
  std::set<const void*> memory;
  for (ridgeline_batch* batch : kept) {
    ridgeline_column image;
    EXPECT_OK(ridgeline_batch_column(batch, "image", &image));
    memory.insert(image.data);
    EXPECT_OK(ridgeline_batch_free(batch));
  }
  EXPECT_EQ(memory.size(), 30u);
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, HandlesThatAreNoneAreErrors) {
  ridgeline_dataset* dataset = made();
  ridgeline_iterator* it = run(dataset);
  ridgeline_batch* batch = next(it);
  std::int64_t number = -7;
  EXPECT_REFUSED(ridgeline_dataset_size(nullptr, &number), RIDGELINE_USAGE, "the dataset is NULL");
  EXPECT_REFUSED(ridgeline_dataset_size(reinterpret_cast<ridgeline_dataset*>(batch), &number), RIDGELINE_USAGE,
                 "the dataset is the handle of a batch");
  EXPECT_REFUSED(ridgeline_dataset_size(reinterpret_cast<ridgeline_dataset*>(&number), &number), RIDGELINE_USAGE,
                 "no handle that this library gave");
  for (std::uintptr_t wild : {std::uintptr_t{1}, std::uintptr_t{4096}, ~std::uintptr_t{0}})
    EXPECT_REFUSED(ridgeline_batch_free(reinterpret_cast<ridgeline_batch*>(wild)), RIDGELINE_USAGE, "no handle");
  EXPECT_OK(ridgeline_batch_free(batch));
  EXPECT_REFUSED(ridgeline_batch_free(batch), RIDGELINE_USAGE, "the batch has been freed");
  ridgeline_batch_info info;
  EXPECT_REFUSED(ridgeline_batch_get_info(batch, &info), RIDGELINE_USAGE, "freed");
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_REFUSED(ridgeline_iterator_next(it, 0, &batch), RIDGELINE_USAGE, "the iterator has been freed");
  EXPECT_OK(ridgeline_dataset_free(dataset));
  EXPECT_REFUSED(ridgeline_iterator_create(dataset, nullptr, &it), RIDGELINE_USAGE, "freed");
  EXPECT_EQ(number, -7);
}

TEST_F(C, WrongArgumentsAreErrors) {
  ridgeline_dataset* dataset = nullptr;
  EXPECT_REFUSED(ridgeline_dataset_from_json(nullptr, &dataset), RIDGELINE_USAGE, "json is NULL");
  EXPECT_REFUSED(ridgeline_dataset_from_json("{}", nullptr), RIDGELINE_USAGE, "result is NULL");
  EXPECT_REFUSED(ridgeline_dataset_from_json("{", &dataset), RIDGELINE_USAGE, "ridgeline_dataset_from_json: ");
  EXPECT_EQ(dataset, nullptr);
  dataset = made();
  EXPECT_REFUSED(ridgeline_dataset_size(dataset, nullptr), RIDGELINE_USAGE, "result is NULL");
  EXPECT_REFUSED(ridgeline_dataset_to_json(dataset, nullptr, 0, nullptr), RIDGELINE_USAGE, "both NULL");
  char small[4] = "abc";
  std::size_t size = 0;
  EXPECT_REFUSED(ridgeline_dataset_to_json(dataset, small, sizeof small, &size), RIDGELINE_USAGE, "needs");
  EXPECT_STREQ(small, "abc");
  EXPECT_EQ(size, pipeline().to_json().size());
  ridgeline_iterator* it = nullptr;
  EXPECT_REFUSED(ridgeline_options_init(nullptr), RIDGELINE_USAGE, "options is NULL");
  ridgeline_options o = options();
  const auto refused = [&](const char* part) {
    EXPECT_REFUSED(ridgeline_iterator_create(dataset, &o, &it), RIDGELINE_USAGE, part);
    o = options();
  };
  o.struct_size = 8;
  refused("struct_size is 8");
  o.pull = 2;
  refused("options.pull is 2");
  o.pad_last = 2;
  refused("options.pad_last is 2");
  o.bad_samples = "skipp";
  EXPECT_NE(ridgeline_iterator_create(dataset, &o, &it), RIDGELINE_OK);
  o = options();
  o.workers = -1;
  EXPECT_REFUSED(ridgeline_iterator_create(dataset, &o, &it), RIDGELINE_FAILURE, "workers is -1");
  EXPECT_EQ(it, nullptr);
  it = run(dataset);
  EXPECT_REFUSED(ridgeline_iterator_next(it, -1, nullptr), RIDGELINE_USAGE, "result is NULL");
  EXPECT_REFUSED(ridgeline_iterator_restore(it, nullptr), RIDGELINE_USAGE, "state is NULL");
  EXPECT_REFUSED(ridgeline_iterator_save(it, nullptr), RIDGELINE_USAGE, "path is NULL");
  EXPECT_REFUSED(ridgeline_iterator_save(it, (dir / "no/such/dir").c_str()), RIDGELINE_FAILURE, "no/such/dir");
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, ABadRecordIsAFailureAndCanBeSkipped) {
  write_bytes(folder + "/class_a/999.jpg", "no image", 8);
  ridgeline_dataset* dataset = made();
  ridgeline_iterator* it = run(dataset);
  ridgeline_status status = RIDGELINE_OK;
  for (int i = 0; i < 7 && status == RIDGELINE_OK; ++i) {
    ridgeline_batch* batch = nullptr;
    status = ridgeline_iterator_next(it, -1, &batch);
    if (status == RIDGELINE_OK) {
      EXPECT_OK(ridgeline_batch_free(batch));
    }
  }
  EXPECT_EQ(status, RIDGELINE_FAILURE);
  EXPECT_NE(std::string(ridgeline_last_error()).find("999.jpg"), std::string::npos) << ridgeline_last_error();
  EXPECT_OK(ridgeline_iterator_free(it));
  ridgeline_options o = options();
  o.bad_samples = "skip";
  const std::string list = dir / "bad.jsonl";
  o.quarantine = list.c_str();
  it = run(dataset, &o);
  EXPECT_NE(digest_of(it), 0u);
  EXPECT_TRUE(std::filesystem::exists(list));
  char stats_text[4096];
  EXPECT_OK(ridgeline_iterator_stats(it, stats_text, sizeof stats_text, nullptr));
  const std::string stats = stats_text;
  EXPECT_TRUE(stats.starts_with("{\"stages\":[{\"name\":\"read\",\"busy_seconds\":")) << stats;
  for (const char* name : {"samples", "bytes", "seconds", "consumer_wait_seconds", "worker_wait_seconds", "batches",
                           "workers", "jpeg_indices", "jpeg_index_bytes", "jpeg_indices_on_disk", "advice"})
    EXPECT_NE(stats.find("\"" + std::string(name) + "\":"), std::string::npos) << name << " in " << stats;
  EXPECT_NE(stats.find("\"bad_samples\":1"), std::string::npos) << stats;
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

// A failure that is neither the caller's mistake nor bad data.
TEST_F(C, AServerThatIsAwayIsUnreachable) {
  ridgeline_dataset* dataset =
      made(Tar({"http://127.0.0.1:1/a.tar"}, {.num_classes = 2, .tries = 1}).batch(2).to_json());
  std::int64_t size = 0;
  EXPECT_REFUSED(ridgeline_dataset_size(dataset, &size), RIDGELINE_UNREACHABLE, "http://127.0.0.1:1/a.tar");
  ridgeline_options o = options();
  o.bad_samples = "skip";
  ridgeline_iterator* it = nullptr;
  EXPECT_REFUSED(ridgeline_iterator_create(dataset, &o, &it), RIDGELINE_UNREACHABLE, "Failed to connect");
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, ThreadsThatUseAndFreeOneIteratorGetBatchesOrErrors) {
  ridgeline_dataset* dataset = made();
  for (int round = 0; round < 20; ++round) {
    ridgeline_options o = options();
    o.epochs = RIDGELINE_FOREVER;
    o.workers = 2;
    ridgeline_iterator* it = run(dataset, &o);
    std::atomic<int> batches{0}, errors{0};
    std::vector<std::thread> users;
    for (int i = 0; i < 3; ++i) {
      users.emplace_back([&] {
        while (true) {
          ridgeline_batch* batch = nullptr;
          const ridgeline_status status = ridgeline_iterator_next(it, 1000, &batch);
          if (status == RIDGELINE_USAGE) {
            ++errors;  // freed by another thread
            return;
          }
          ASSERT_EQ(status, RIDGELINE_OK) << ridgeline_last_error();
          ++batches;
          ASSERT_EQ(ridgeline_batch_free(batch), RIDGELINE_OK);
        }
      });
    }
    while (batches < 5) std::this_thread::yield();
    EXPECT_OK(ridgeline_iterator_free(it));
    for (std::thread& user : users) user.join();
    EXPECT_EQ(errors, 3);
  }
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

TEST_F(C, AThousandRunsLeaveNoThread) {
  ridgeline_dataset* dataset = made();
  const int before = threads_now();
  for (int i = 0; i < 1000; ++i) {
    ridgeline_options o = options();
    o.workers = 2;
    o.memory_limit = 1 << 20;
    ridgeline_iterator* it = run(dataset, &o);
    ridgeline_batch* batch = i % 3 == 0 ? next(it) : nullptr;
    EXPECT_OK(ridgeline_iterator_free(it));
    if (batch) {
      EXPECT_OK(ridgeline_batch_free(batch));
    }
  }
  EXPECT_EQ(threads_now(), before);
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

}  // namespace
}  // namespace ridgeline::data::testing

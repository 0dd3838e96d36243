#include "ridgeline/image/jpeg/jpeg.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include <jerror.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/jpeg/error.h"
#include "ridgeline/image/jpeg/fast.h"
#include "ridgeline/image/pixels.h"

namespace ridgeline::image {
namespace {

enum Jump { kFailed = 1, kEndedAfterRows = 2 };  // as setjmp returns them

void skip_input(j_decompress_ptr cinfo, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *cinfo->src;
  if (static_cast<std::size_t>(count) > source.bytes_in_buffer) source.fill_input_buffer(cinfo);  // does not return
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<std::size_t>(count);
}

void nothing(j_decompress_ptr) {}

// The layouts for which decoding a region is known to be exact (tests compare each with the whole image).
bool region_is_exact(const jpeg_decompress_struct& cinfo) {
  if (cinfo.arith_code) return false;
  if (cinfo.progressive_mode) {
    // With missing scans libjpeg smooths across blocks, which would differ for a region.
    for (int c = 0; c < cinfo.num_components; ++c) {
      for (int i = 0; i < DCTSIZE2; ++i) {
        if (cinfo.coef_bits[c][i] != 0) return false;
      }
    }
  }
  const jpeg_component_info* c = cinfo.comp_info;
  if (cinfo.num_components == 1) return c[0].h_samp_factor == 1 && c[0].v_samp_factor == 1;
  if (cinfo.num_components != 3) return false;
  for (int i = 1; i < 3; ++i) {
    if (c[i].h_samp_factor != 1 || c[i].v_samp_factor != 1) return false;
  }
  const int h = c[0].h_samp_factor, v = c[0].v_samp_factor;
  return (h == 1 || h == 2 || h == 4) && (v == 1 || v == 2);
}

// Pillow's cmyk2rgb (Convert.c) on Adobe's inverted values.
void cmyk_to_rgb(const std::uint8_t* in, std::uint8_t* out, int width) {
  for (int x = 0; x < width; ++x, in += 4, out += 3) {
    const int k = in[3];
    for (int c = 0; c < 3; ++c) {
      const int t = (255 - in[c]) * k + 128;
      out[c] = static_cast<std::uint8_t>(k - (((t >> 8) + t) >> 8));
    }
  }
}

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct cinfo{};
  JpegErrors errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  DecodeLimits limits;
  std::unique_ptr<std::uint8_t[]> pixels;  // left uninitialised: an absurd header must not cost its pages
  std::size_t capacity = 0;
  std::vector<std::uint8_t> row;  // CMYK, and rows that a region discards
  // Of the latest image: what `pixels` holds, in image coordinates, and whether it is all of it.
  Box held{};
  bool full = true;
  bool finishing = false;  // all rows are there
  JpegPath path;
  JpegFastDecoder fast;
  bool by_libjpeg = false;

  State(DecodeLimits given, JpegPath chosen) : limits(given), path(chosen), fast(chosen == JpegPath::own) {
    source.init_source = nothing;
    source.fill_input_buffer = file_ended;
    source.skip_input_data = skip_input;
    source.resync_to_restart = jpeg_resync_to_restart;
    source.term_source = nothing;
    progress.progress_monitor = limit_scans;
  }
  ~State() { jpeg_destroy_decompress(&cinfo); }

  void reserve(std::size_t bytes) {
    if (bytes <= capacity) return;
    pixels.reset();
    capacity = 0;
    pixels = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
    capacity = bytes;
  }

  [[noreturn]] static boolean file_ended(j_decompress_ptr cinfo);
  static void limit_scans(j_common_ptr common);
  void start();
  // False, with errors.message, when libjpeg gave up. Owns nothing: see jpeg/error.h.
  bool run(const std::uint8_t* data, std::size_t size, const Box* wanted);
  void read_header(const std::uint8_t* data, std::size_t size);
  void read_pixels(const Box* wanted);
  void read_row(std::uint8_t* out);
  ImageView decode(std::span<const std::uint8_t> bytes, const Box* wanted);
  ImageView decode(std::span<const std::uint8_t> bytes, const Box* wanted, const JpegIndex* known, JpegIndex* made);
};

// A file that ends early is bad at once: libjpeg's own source would invent an end marker and paint the rest grey. Only
// after the last row, as in Pillow, it does not matter.
boolean JpegDecoder::State::file_ended(j_decompress_ptr cinfo) {
  State& self = *static_cast<State*>(cinfo->client_data);
  if (self.finishing) std::longjmp(self.errors.jump, kEndedAfterRows);
  cinfo->err->msg_code = JWRN_JPEG_EOF;
  cinfo->err->error_exit(reinterpret_cast<j_common_ptr>(cinfo));
  __builtin_unreachable();
}

void JpegDecoder::State::limit_scans(j_common_ptr common) {
  const auto& info = *reinterpret_cast<j_decompress_ptr>(common);
  State& self = *static_cast<State*>(info.client_data);
  if (info.input_scan_number <= self.limits.max_scans) return;
  std::snprintf(self.errors.message, sizeof self.errors.message, "more than %d scans", self.limits.max_scans);
  std::longjmp(self.errors.jump, kFailed);
}

// A new libjpeg object for each image: an old one would lend its tables to a file that lacks its own (MJPEG frames do).
void JpegDecoder::State::start() {
  jpeg_destroy_decompress(&cinfo);
  errors.install(reinterpret_cast<j_common_ptr>(&cinfo));
  jpeg_create_decompress(&cinfo);
  cinfo.client_data = this;
  cinfo.src = &source;
  cinfo.progress = &progress;
  finishing = false;
}

void JpegDecoder::State::read_header(const std::uint8_t* data, std::size_t size) {
  source.next_input_byte = data;
  source.bytes_in_buffer = size;
  jpeg_read_header(&cinfo, TRUE);
  if (static_cast<std::int64_t>(cinfo.image_width) * cinfo.image_height > limits.max_pixels) {
    std::snprintf(errors.message, sizeof errors.message, "%ux%u pixels are more than the limit of %lld",
                  cinfo.image_height, cinfo.image_width, static_cast<long long>(limits.max_pixels));
    std::longjmp(errors.jump, kFailed);
  }
  const bool four = cinfo.jpeg_color_space == JCS_CMYK || cinfo.jpeg_color_space == JCS_YCCK;
  if (!four && cinfo.num_components != 1 && cinfo.num_components != 3) {
    std::snprintf(errors.message, sizeof errors.message, "%d components; an image has 1, 3 or 4", cinfo.num_components);
    std::longjmp(errors.jump, kFailed);
  }
  cinfo.out_color_space = four ? JCS_CMYK : JCS_RGB;
  cinfo.dct_method = JDCT_ISLOW;
  cinfo.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&cinfo);
}

void JpegDecoder::State::read_row(std::uint8_t* out) {
  const bool four = cinfo.out_color_components == 4;
  std::uint8_t* target = four ? row.data() : out;
  jpeg_read_scanlines(&cinfo, &target, 1);
  if (four) cmyk_to_rgb(row.data(), out, static_cast<int>(cinfo.output_width));
}

void JpegDecoder::State::read_pixels(const Box* wanted) {
  const int height = static_cast<int>(cinfo.output_height), width = static_cast<int>(cinfo.output_width);
  held = {0, 0, height, width};
  if (wanted && !inside(*wanted, {height, width})) return;  // crop() in decode() reports it
  full = !wanted || !region_is_exact(cinfo);
  if (!full) {
    // Fancy upsampling reads one chroma sample beyond, and libjpeg's substitute for a sample that it did not decode
    // differs: one iMCU more on each side keeps that away from the box. Unscaled chroma needs none.
    const int unit_width = cinfo.max_h_samp_factor * DCTSIZE, unit_height = cinfo.max_v_samp_factor * DCTSIZE;
    const bool subsampled = cinfo.max_h_samp_factor > 1 || cinfo.max_v_samp_factor > 1;
    const int margin = subsampled ? 1 : 0;
    const int left = std::max(0, wanted->left / unit_width - margin) * unit_width;
    const int right = std::min(width, ((wanted->left + wanted->width - 1) / unit_width + 1 + margin) * unit_width);
    const int top = std::max(0, wanted->top / unit_height - margin) * unit_height;
    if (right - left < width) {
      JDIMENSION offset = static_cast<JDIMENSION>(left), columns = static_cast<JDIMENSION>(right - left);
      jpeg_crop_scanline(&cinfo, &offset, &columns);
      held.left = static_cast<int>(offset);
      held.width = static_cast<int>(columns);
    }
    if (top > 0) jpeg_skip_scanlines(&cinfo, static_cast<JDIMENSION>(top));
    held.top = wanted->top;
    held.height = wanted->height;
  }
  const std::size_t stride = static_cast<std::size_t>(held.width) * 3;
  reserve(stride * static_cast<std::size_t>(held.height));
  row.resize(static_cast<std::size_t>(cinfo.output_width) * 4);
  while (static_cast<int>(cinfo.output_scanline) < held.top) read_row(row.data());
  for (int y = 0; y < held.height; ++y) read_row(pixels.get() + static_cast<std::size_t>(y) * stride);
  finishing = true;
  if (full) jpeg_finish_decompress(&cinfo);  // errors behind the last row still count
}

bool JpegDecoder::State::run(const std::uint8_t* data, std::size_t size, const Box* wanted) {
  if (const int jumped = setjmp(errors.jump)) return jumped == kEndedAfterRows;
  start();
  read_header(data, size);
  read_pixels(wanted);
  return true;
}

ImageView JpegDecoder::State::decode(std::span<const std::uint8_t> bytes, const Box* wanted) {
  const bool good = run(bytes.data(), bytes.size(), wanted);
  jpeg_abort_decompress(&cinfo);  // gives back the image's memory; the next image's object starts afresh
  if (!good) throw Error(std::string("[jpeg] ") + errors.message);
  const ImageView all{pixels.get(), held.height, held.width, 3, static_cast<std::ptrdiff_t>(held.width) * 3};
  if (!wanted) return all;
  return crop(all, {wanted->top - held.top, wanted->left - held.left, wanted->height, wanted->width});
}

ImageView JpegDecoder::State::decode(std::span<const std::uint8_t> bytes, const Box* wanted, const JpegIndex* known,
                                     JpegIndex* made) {
  if (path != JpegPath::libjpeg) {
    if (const auto pixels_of_fast = fast.decode(bytes, wanted, limits.max_pixels, known, made)) {
      errors.warnings = 0;
      full = wanted == nullptr;
      by_libjpeg = false;
      return *pixels_of_fast;
    }
  }
  if (made) *made = JpegIndex();
  by_libjpeg = true;
  return decode(bytes, wanted);
}

JpegPath jpeg_path_from_environment() {
  const char* name = std::getenv("RIDGELINE_JPEG");
  const std::string_view wanted = name ? name : "";
  if (wanted.empty() || wanted == "own") return JpegPath::own;
  if (wanted == "one_stream") return JpegPath::one_stream;
  if (wanted == "libjpeg") return JpegPath::libjpeg;
  throw Error("RIDGELINE_JPEG: unknown path '" + std::string(wanted) + "' (allowed: own, one_stream, libjpeg)",
              ErrorKind::usage);
}

JpegDecoder::JpegDecoder(DecodeLimits limits, JpegPath path) : state_(std::make_unique<State>(limits, path)) {}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;

ImageView JpegDecoder::decode(std::span<const std::uint8_t> bytes, const JpegIndex* known, JpegIndex* made) {
  return state_->decode(bytes, nullptr, known, made);
}
ImageView JpegDecoder::decode_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known,
                                     JpegIndex* made) {
  return state_->decode(bytes, &box, known, made);
}
int JpegDecoder::warnings() const { return state_->errors.warnings; }
bool JpegDecoder::decoded_fully() const { return state_->full; }
bool JpegDecoder::decoded_by_libjpeg() const { return state_->by_libjpeg; }

}  // namespace ridgeline::image

package ridgeline;

import java.util.ArrayList;
import java.util.List;

/**
 * A pipeline: a graph of sources and transforms, which {@link #iterate} runs. It is read from the JSON of {@code
 * ridgeline dataset export-json}, Python's {@code Dataset.to_json()} or C++ and gives the same samples as there. Any
 * thread may use it.
 */
public final class Dataset implements AutoCloseable {
  /** Results of {@link #size} and {@link #samples} for an endless dataset, and if the graph does not know. */
  public static final long FOREVER = -1, UNKNOWN = -2;

  private final Handle handle;

  private Dataset(long handle) {
    this.handle = new Handle(handle, "dataset", NativeData::freeDataset);
  }

  public static Dataset fromJson(String json) {
    return new Dataset(NativeData.datasetFromJson(Text.toC(json, "json")));
  }

  /** A reference of all nodes and transforms that the JSON may contain, with their arguments. */
  public static String referencePage() {
    return Text.fromC(NativeData.referencePage());
  }

  public String toJson() {
    return Text.fromC(NativeData.datasetToJson(handle.get()));
  }

  /** A hash of the JSON without performance hints, the seed and file locations. */
  public long hash() {
    return NativeData.datasetHash(handle.get());
  }

  /** Batches per epoch (rows, if the graph does not batch). The first call opens the source's files. */
  public long size() {
    return NativeData.datasetSize(handle.get());
  }

  public long samples() {
    return NativeData.datasetSamples(handle.get());
  }

  /** The largest label plus one. */
  public long classes() {
    return NativeData.datasetClasses(handle.get());
  }

  public String className(long label) {
    return Text.fromC(NativeData.datasetClassName(handle.get(), label));
  }

  /** Class names in the order of the labels. */
  public List<String> classNames() {
    final List<String> names = new ArrayList<>();
    for (long label = 0, classes = classes(); label < classes; ++label) names.add(className(label));
    return names;
  }

  /** An iterator over one epoch with the settings of the graph. */
  public BatchIterator iterate() {
    return iterate(new IteratorSettings());
  }

  /** The dataset may be closed before the iterator. */
  public BatchIterator iterate(IteratorSettings settings) {
    return new BatchIterator(NativeData.createIterator(handle.get(), Text.toC(settings.toJson(), "settings")));
  }

  @Override
  public void close() {
    handle.close();
  }
}

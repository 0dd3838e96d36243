package ridgeline;

import java.util.ArrayList;
import java.util.List;

/**
 * A pipeline: a graph of sources and transforms, nothing that runs. It comes as the JSON of {@code ridgeline dataset
 * export-json}, Python's {@code Dataset.to_json()} or C++, and is the same graph with the same samples here. Any thread
 * may use it.
 */
public final class Dataset implements AutoCloseable {
  /** What {@link #size} and {@link #samples} say where there is no end, and where the graph cannot tell. */
  public static final long FOREVER = -1, UNKNOWN = -2;

  private final Handle handle;

  private Dataset(long handle) {
    this.handle = new Handle(handle, "dataset", NativeData::freeDataset);
  }

  public static Dataset fromJson(String json) {
    return new Dataset(NativeData.datasetFromJson(Text.toC(json, "json")));
  }

  /** All nodes and transforms with their arguments: what the JSON may say. */
  public static String referencePage() {
    return Text.fromC(NativeData.referencePage());
  }

  public String toJson() {
    return Text.fromC(NativeData.datasetToJson(handle.get()));
  }

  /** Of what the JSON says, apart from tuning, the seed and where files lie. */
  public long hash() {
    return NativeData.datasetHash(handle.get());
  }

  /** Batches of an epoch (rows, where the graph does not end in batches). Opens the source's files the first time. */
  public long size() {
    return NativeData.datasetSize(handle.get());
  }

  public long samples() {
    return NativeData.datasetSamples(handle.get());
  }

  /** One more than the greatest label. */
  public long classes() {
    return NativeData.datasetClasses(handle.get());
  }

  public String className(long label) {
    return Text.fromC(NativeData.datasetClassName(handle.get(), label));
  }

  /** In the order of the labels. */
  public List<String> classNames() {
    final List<String> names = new ArrayList<>();
    for (long label = 0, classes = classes(); label < classes; ++label) names.add(className(label));
    return names;
  }

  /** A run of one epoch with the graph's own settings. */
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

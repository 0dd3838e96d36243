/**
 * Ridgeline's data engine ({@link ridgeline.Dataset}) and inference ({@link ridgeline.Model}) for Java, over the C
 * interface by JNI. Each of the two has a native library of its own, which is loaded when it is first used.
 */
package ridgeline;

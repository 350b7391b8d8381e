// Package programs runs programs that people run first, as they are published, the way a container runs them: by
// mullion-run.exe in a Wine prefix with Mullion's shims, with pipes as standard handles. The programs are packages of
// npm, which fetches them at the first run into the user's folder for caches; without npm, or if it has not got them,
// the tests skip. They need Wine and built shims too (build tag wine).
package programs

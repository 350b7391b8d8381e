// Package wine owns what Mullion knows about Wine: finding an installation, the read-only system layer that Windows
// hosts and Windows containers share, the registry text of each Windows build, the environment Wine programs need,
// and the mapping from Windows paths to Unix paths. It starts Wine's own
// programs while it prepares a layer (wineboot, and wineserver to end it) and to learn Wine's version; running Windows
// programs is for the packages above.
//
// On disk, below the folder that Prepare is given:
//
//	<key>/base            the C: drive (Files), the ELF libraries, an empty etc, dev, proc, …
//	<key>/build-<number>  the registry of one Windows build, a layer above base
//	<key>/system.json     what Open reads
//
// A <key> folder appears by rename when it is complete. Afterwards only builds are added, each by rename too; what is
// there never changes.
package wine

package winver

// hnsSource is where the HNS versions come from: the version ranges of hcn/hcnglobals.go, with the release each range
// is known to belong to (RS5 answers 9.x: kubernetes/kubernetes#93304; "Zn", 23H2, answers 15.x). The minor number
// is the highest that file names for the release, as a serviced machine answers it.
const hnsSource = "; HNS: https://github.com/microsoft/hnslib/blob/v0.1.2/hcn/hcnglobals.go"

// All lists every build, oldest first.
func All() []Build {
	return []Build{
		{
			Name: "1709", Aliases: []string{"rs3"}, Version: Version{10, 0, 16299, 1087},
			ProductName: "Windows Server Datacenter", ReleaseID: "1709", BuildLab: "rs3_release",
			Source: "https://support.microsoft.com/help/4493441",
		},
		{
			Name: "1803", Aliases: []string{"rs4"}, Version: Version{10, 0, 17134, 1130},
			ProductName: "Windows Server Datacenter", ReleaseID: "1803", BuildLab: "rs4_release", HNS: HNSVersion{7, 2},
			Source: "https://support.microsoft.com/help/4525237" + hnsSource,
		},
		{
			Name: "ltsc2019", Aliases: []string{"1809", "2019", "rs5"}, Version: Version{10, 0, 17763, 6414},
			ProductName: "Windows Server 2019 Datacenter", ReleaseID: "1809", BuildLab: "rs5_release", HNS: HNSVersion{9, 5},
			Source: "https://support.microsoft.com/help/5044277" + hnsSource,
		},
		{
			Name: "1903", Aliases: []string{"19h1"}, Version: Version{10, 0, 18362, 1256},
			ProductName: "Windows Server Datacenter", ReleaseID: "1903", BuildLab: "19h1_release", HNS: HNSVersion{10, 5},
			Source: "https://support.microsoft.com/help/4592449" + hnsSource,
		},
		{
			Name: "1909", Aliases: []string{"19h2"}, Version: Version{10, 0, 18363, 1556},
			ProductName: "Windows Server Datacenter", ReleaseID: "1909", BuildLab: "19h1_release", HNS: HNSVersion{10, 5},
			Source: "https://support.microsoft.com/help/5003169" + hnsSource,
		},
		{
			Name: "2004", Aliases: []string{"20h1"}, Version: Version{10, 0, 19041, 1415},
			ProductName: "Windows Server Datacenter", ReleaseID: "2004", BuildLab: "vb_release", HNS: HNSVersion{11, 11},
			Source: "https://support.microsoft.com/help/5008212" + hnsSource,
		},
		{
			Name: "20h2", Aliases: []string{"2009"}, Version: Version{10, 0, 19042, 1706},
			ProductName: "Windows Server Datacenter", ReleaseID: "2009", DisplayVersion: "20H2", BuildLab: "vb_release",
			HNS: HNSVersion{11, 11}, Source: "https://support.microsoft.com/help/5013942" + hnsSource,
		},
		{
			Name: "ltsc2022", Aliases: []string{"2022", "21h2"}, Version: Version{10, 0, 20348, 2762},
			ProductName: "Windows Server 2022 Datacenter", ReleaseID: "2009", DisplayVersion: "21H2", BuildLab: "fe_release",
			HNS: HNSVersion{13, 2}, Source: "https://support.microsoft.com/help/5044281" + hnsSource,
		},
		{
			Name: "23h2", Aliases: []string{"annual-23h2"}, Version: Version{10, 0, 25398, 1189},
			ProductName: "Windows Server Datacenter", ReleaseID: "2009", DisplayVersion: "23H2", BuildLab: "zn_release",
			HNS: HNSVersion{15, 5}, Source: "https://support.microsoft.com/help/5044288" + hnsSource,
		},
		{
			Name: "ltsc2025", Aliases: []string{"2025", "24h2"}, Version: Version{10, 0, 26100, 2314},
			ProductName: "Windows Server 2025 Datacenter", ReleaseID: "2009", DisplayVersion: "24H2", BuildLab: "ge_release",
			HNS: HNSVersion{16, 0}, Source: "https://support.microsoft.com/help/5046617" + hnsSource,
		},
	}
}

package programs

import (
	"fmt"
	"strings"
)

// goTools are programs in Go that are run by a person or a pipeline, built from their modules.
func goTools() []Row {
	return []Row{rclone(), hugo(), helm(), kubectl(), telegraf()}
}

func hugo() Row {
	return Row{
		ID:      "hugo",
		Title:   "Hugo",
		Version: "0.165.0",
		Family:  Go,
		Source:  goProgram("hugo.exe", "github.com/gohugoio/hugo", "v0.165.0", ""),
		Checks: []Check{
			{
				Name: "a site",
				Run:  []string{"{exe}", "--source", "site"},
				Files: map[string]string{
					"site/hugo.toml":                    "baseURL = 'http://127.0.0.1/'\ntitle = 'Nodes'\ndisableKinds = ['taxonomy', 'section']\n",
					"site/content/posts/first.md":       "---\ntitle: First\ndate: 2026-01-02\n---\nSome *text* with `code`.\n",
					"site/layouts/index.html":           "{{ range .Site.RegularPages }}<a href={{ .RelPermalink }}>{{ .Title }} {{ .WordCount }}</a>{{ end }}",
					"site/layouts/_default/single.html": "<h1>{{ .Title }}</h1>{{ .Content }}",
					"second.md":                         "---\ntitle: Second\ndate: 2026-01-03\n---\nOther **words**.\n",
				},
				Writes: map[string]string{
					"site/public/index.html":             "^<a href=/posts/first/>First 4</a>$",
					"site/public/posts/first/index.html": "<h1>First</h1><p>Some <em>text</em> with <code>code</code>.</p>",
					"site/public/sitemap.xml":            "<loc>http://127.0.0.1/posts/first/</loc>",
				},
			},
			{
				Name: "its server, which sees that a file is new",
				Run:  []string{"{exe}", "server", "--source", "site", "--bind", "127.0.0.1", "--port", "{port}", "--disableLiveReload"},
				Asks: []Ask{
					{URL: "http://127.0.0.1:{port}/posts/first/", Want: "Some <em>text</em>"},
					{Run: []string{"cmd", "/c", "copy", "second.md", `site\content\posts\second.md`}},
					{URL: "http://127.0.0.1:{port}/posts/second/", Want: "^200 OK.*Other <strong>words</strong>"},
				},
				Want: "Change detected",
			},
		},
	}
}

func helm() Row {
	return Row{
		ID:      "helm",
		Title:   "Helm",
		Version: "4.3.1",
		Family:  Go,
		Source:  goProgram("helm.exe", "helm.sh/helm/v4", "v4.3.1", "/cmd/helm"),
		Checks: []Check{
			{
				Name: "the templates of a chart",
				Run:  []string{"{exe}", "template", "release", "chart", "--set", "image=web:2"},
				Files: map[string]string{
					"chart/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\n",
					"chart/values.yaml": "replicas: 2\nimage: web:1\n",
					"chart/templates/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{ .Release.Name }}-{{ .Chart.Name }}'}\n" +
						"spec:\n  replicas: {{ mul .Values.replicas 2 }}\n  selector: {matchLabels: {app: web}}\n  template:\n" +
						"    metadata: {labels: {app: web, sum: '{{ .Values.image | sha256sum | trunc 8 }}'}}\n" +
						"    spec: {containers: [{name: web, image: '{{ .Values.image }}'}]}\n",
				},
				Want: "name: 'release-web'.*replicas: 4\n.*sum: '97226961'.*image: 'web:2'",
			},
			{Name: "lint", Run: []string{"{exe}", "lint", "chart"}, Want: "1 chart.s. linted, 0 chart.s. failed"},
			{Name: "a package", Run: []string{"{exe}", "package", "chart"}, Writes: map[string]string{"web-1.2.3.tgz": "^\x1f"}},
			{Name: "what a package says", Run: []string{"{exe}", "show", "chart", "web-1.2.3.tgz"}, Want: "name: web\nversion: 1.2.3\n"},
			{
				Name: "lint of a chart with an error", Run: []string{"{exe}", "lint", "chart"}, Exit: 1, Want: "unclosed action",
				Files: map[string]string{"chart/templates/wrong.yaml": "{{ .Values.a }}{{"},
			},
		},
	}
}

func kubectl() Row {
	source := goProgram("kubectl.exe", "k8s.io/kubernetes", "v1.37.1", "/cmd/kubectl")
	source.Pins = "cluster/kubernetes"
	return Row{
		ID:      "kubectl",
		Title:   "kubectl, without a cluster",
		Version: "1.37.1",
		Family:  Go,
		Source:  source,
		Checks: []Check{
			{
				Name: "kustomize",
				Run:  []string{"{exe}", "kustomize", "app"},
				Files: map[string]string{
					"app/kustomization.yaml": "namePrefix: dev-\nresources: [pod.yaml]\nimages: [{name: web, newTag: '2'}]\n" +
						"configMapGenerator: [{name: settings, literals: [a=b]}]\n",
					"app/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n" +
						"  containers: [{name: web, image: 'web:1', envFrom: [{configMapRef: {name: settings}}]}]\n",
				},
				Want: "name: dev-settings-4h2mbtbbt6\n---.*name: dev-web\n.*name: dev-settings-4h2mbtbbt6\n.*image: web:2\n",
			},
			{
				Name: "create deployment --dry-run=client",
				Run:  []string{"{exe}", "create", "deployment", "web", "--image=web:1", "--replicas=3", "--dry-run=client", "-o", "yaml"},
				Want: "kind: Deployment\n.*replicas: 3\n.*image: web:1\n",
			},
			{
				Name:   "config set-cluster",
				Run:    []string{"{exe}", "config", "set-cluster", "c", "--server", "https://127.0.0.1:2", "--kubeconfig", "config"},
				Writes: map[string]string{"config": "server: https://127.0.0.1:2\n  name: c\n"},
			},
			{
				Name: "no server", Run: []string{"{exe}", "get", "pods", "--server", "http://127.0.0.1:1"}, Exit: 1,
				Want: "Unable to connect to the server: .*actively refused",
			},
		},
	}
}

func telegraf() Row {
	var config strings.Builder
	config.WriteString("[agent]\ninterval = '1s'\nflush_interval = '1s'\nomit_hostname = true\n" +
		"[[inputs.cpu]]\npercpu = false\n[[inputs.mem]]\n[[inputs.net]]\nignore_protocol_stats = true\n[[inputs.disk]]\n" +
		"[[inputs.win_perf_counters]]\n[[inputs.win_perf_counters.object]]\nObjectName = 'Processor'\nInstances = ['_Total']\n" +
		"Counters = ['% Processor Time']\nMeasurement = 'win_cpu'\n")

	writes := map[string]string{
		"cpu":     `^cpu,cpu=cpu-total .*usage_user=\d`,
		"mem":     `^mem .*total=[1-9]\d{8,}i`,
		"net":     `^net,interface=\S+ .*bytes_recv=\d+i`,
		"disk":    `^disk,device=C:,fstype=NTFS,mode=rw,path=\\C: .*total=[1-9]\d{8,}i`,
		"win_cpu": `^win_cpu,instance=_Total,objectname=Processor,\S+ Percent_Processor_Time=\d`,
	}

	for name := range writes {
		fmt.Fprintf(&config, "[[outputs.file]]\nfiles = ['{dir/}/%s']\ndata_format = 'influx'\nnamepass = ['%[1]s']\n", name)
	}

	return Row{
		ID:      "telegraf",
		Title:   "Telegraf",
		Version: "1.37.2",
		Family:  Go,
		Source:  goProgram("telegraf.exe", "github.com/influxdata/telegraf", "v1.37.2", "/cmd/telegraf"),
		Checks: []Check{{
			Name:   "memory, disks, network, CPU and performance counters, once, in Influx' format",
			Run:    []string{"{exe}", "--config", "telegraf.conf", "--once"},
			Files:  map[string]string{"telegraf.conf": config.String()},
			Writes: writes,
		}},
	}
}

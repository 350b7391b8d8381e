package dockerfile_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// shapes are what public Dockerfiles for Windows consist of, in short: the instructions, flags and ways of quoting of
// the ones after which they are called, around names of our own. SERVER is the address of a web server.
//
// refused is how the refusal begins; "": it is built. runs is how many commands are run.
//
//nolint:lll // Dockerfiles as they are published
var shapes = []struct {
	source, text, refused string
	runs                  int
}{
	{source: "dotnet-framework-docker, a web application: stages, an ARG of PowerShell's, the web site's folder", runs: 2, text: `
FROM mcr.microsoft.com/dotnet/framework/sdk:4.8 AS build
WORKDIR /app
COPY *.sln .
COPY site/*.csproj ./site/
RUN nuget restore
COPY site/. ./site/
WORKDIR /app/site
RUN msbuild /p:Configuration=Release -r:False
FROM mcr.microsoft.com/dotnet/framework/aspnet:4.8 AS runtime
WORKDIR /inetpub/wwwroot
COPY --from=build /app/site/. ./`},
	{source: "dotnet-docker, an application for nanoserver: restore and publish with a cache of packages", runs: 2, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/dotnet/sdk:8.0-nanoserver-ltsc2022 AS build
ARG TARGETARCH
WORKDIR /source
COPY --link site/*.csproj .
RUN --mount=type=cache,target=C:\Users\ContainerUser\.nuget\packages dotnet restore -a %TARGETARCH%
COPY --link site/. .
RUN dotnet publish -a %TARGETARCH% --no-restore -o \app
FROM mcr.microsoft.com/dotnet/aspnet:8.0-nanoserver-ltsc2022
EXPOSE 8080
WORKDIR /app
COPY --link --from=build /source .
ENTRYPOINT ["dotnet", "site.dll"]`},
	{source: "dotnet-docker, an image of the runtime: an installer's stage, setx as administrator", runs: 2, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/servercore:ltsc2022 AS installer
SHELL ["powershell", "-Command", "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue';"]
ENV DOTNET_VERSION=8.0.0
RUN Invoke-WebRequest -OutFile dotnet.zip https://example.invalid/$Env:DOTNET_VERSION.zip; ` + "`" + `
    $sum = 'aa'; ` + "`" + `
    if ((Get-FileHash dotnet.zip -Algorithm sha512).Hash -ne $sum) { exit 1 }; ` + "`" + `
    New-Item -Type Directory /dotnet; tar -oxzf dotnet.zip -C dotnet
COPY a.txt /dotnet/
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
ENV ASPNETCORE_HTTP_PORTS=8080 ` + "`" + `
    DOTNET_RUNNING_IN_CONTAINER=true
COPY --from=installer ["/dotnet", "/Program Files/dotnet"]
USER ContainerAdministrator
RUN setx /M PATH "%PATH%;C:\Program Files\dotnet"
USER ContainerUser`},
	{source: "jenkinsci/docker-agent: arguments before and after FROM, PowerShell's quoting, a user, volumes", runs: 3, text: `
# escape=` + "`" + `
ARG JAVA_HOME="C:\openjdk-17"
ARG WINDOWS_VERSION_TAG=ltsc2022
FROM mcr.microsoft.com/windows/servercore:"${WINDOWS_VERSION_TAG}" AS jdk-core
SHELL ["powershell", "-Command", "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue';"]
ARG JAVA_VERSION=17.0.9+9
RUN New-Item -ItemType Directory -Path C:\temp | Out-Null ; ` + "`" + `
    $encoded = [System.Web.HTTPUtility]::UrlEncode($env:JAVA_VERSION) ; ` + "`" + `
    Expand-Archive -Path 'C:\temp\jdk.zip' -DestinationPath 'C:\openjdk-17'
ARG user=jenkins
RUN net accounts /maxpwage:unlimited ; net user "$env:user" /add /expire:never /passwordreq:no ; ` + "`" + `
    Set-LocalUser -Name $env:user -PasswordNeverExpires 1
ARG AGENT_ROOT=C:/Users/$user
ENV AGENT_WORKDIR=${AGENT_ROOT}/Work
RUN New-Item -Type Directory "$($env:AGENT_WORKDIR)"
USER ${user}
VOLUME ${AGENT_ROOT}/.jenkins
VOLUME "${AGENT_WORKDIR}"
WORKDIR "${AGENT_ROOT}"
LABEL org.opencontainers.image.vendor="Jenkins project" ` + "`" + `
      org.opencontainers.image.version="1"
COPY a.txt C:/ProgramData/Jenkins
ENTRYPOINT ["powershell.exe", "-f", "C:/ProgramData/Jenkins/agent.ps1"]`},
	{source: "docker-library, golang for servercore: setx by PowerShell, a sum, GOPATH", runs: 3, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
SHELL ["powershell", "-Command", "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue';"]
ENV GIT_VERSION=2.23.0
ENV GIT_TAG v${GIT_VERSION}.windows.1
RUN Write-Host ('Downloading {0} ...' -f $env:GIT_TAG); [Net.ServicePointManager]::SecurityProtocol = 'Tls12'
ENV GOPATH C:\\go
RUN $newPath = ('{0}\bin;C:\go\bin;{1}' -f $env:GOPATH, $env:PATH); ` + "`" + `
	[Environment]::SetEnvironmentVariable('PATH', $newPath, [EnvironmentVariableTarget]::Machine);
RUN Write-Host 'Complete.';
WORKDIR $GOPATH`},
	{source: "docker-library, golang for nanoserver: files of the image for servercore", runs: 2, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
SHELL ["cmd", "/S", "/C"]
USER ContainerAdministrator
RUN setx /m GOPATH "%GOPATH:~0,-1%"
RUN mklink /D C:\link C:\go
USER ContainerUser
COPY --from=golang:1.22-windowsservercore-ltsc2022 C:\\go C:\\go
WORKDIR $GOPATH`},
	{source: "docker-library, python: wheels, environment, CMD", runs: 1, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
SHELL ["powershell", "-Command", "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue';"]
ENV PYTHONIOENCODING UTF-8
ENV PYTHON_VERSION 3.12.1
RUN $url = ('https://example.invalid/{0}/python-{1}-amd64.exe' -f ($env:PYTHON_VERSION -replace '[a-z]+[0-9]*$', ''), $env:PYTHON_VERSION); ` + "`" + `
	$exitCode = (Start-Process python.exe -Wait -NoNewWindow -PassThru -ArgumentList @('/quiet', 'InstallAllUsers=1')).ExitCode; ` + "`" + `
	if ($exitCode -ne 0) { Write-Host 'see'; Get-ChildItem $env:TEMP | Format-List; exit $exitCode; }
CMD ["python"]`},
	{source: "Node.js for nanoserver: npm's cache, a user, EXPOSE and HEALTHCHECK", runs: 1, text: `
FROM stefanscherer/node-windows:18-nanoserver
WORKDIR C:/app
COPY package*.json ./
RUN --mount=type=cache,id=npm,target=C:/npm npm ci --omit=dev
COPY . .
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=3s --retries=3 CMD curl.exe -f http://localhost:3000 || exit 1
CMD [ "node.exe", "app.js" ]`},
	{source: "fluent-bit: a builder with tools, ADD of an address, an image with what was built", runs: 3, text: `
# escape=` + "`" + `
ARG WINDOWS_VERSION=ltsc2022
FROM mcr.microsoft.com/windows/servercore:${WINDOWS_VERSION} AS builder-base
RUN setx /M PATH "%PATH%;C:\WinFlexBison;C:\tools"
SHELL ["powershell.exe", "-Command", "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue';"]
ENV MSVS_HOME="C:\BuildTools"
ADD SERVER/tool.zip /local/tool.zip
RUN Expand-Archive /local/tool.zip -Destination /tools; Remove-Item -Path /local/tool.zip
FROM builder-base AS builder
WORKDIR /src/build
COPY . /src/
RUN cmake -G 'NMake Makefiles' ../; cmake --build .
COPY a.txt /fluent-bit/bin/
FROM mcr.microsoft.com/windows/servercore:${WINDOWS_VERSION} AS runtime
ARG FLUENTBIT_VERSION=master
LABEL version="${FLUENTBIT_VERSION}" maintainer="somebody <a@example.invalid>"
COPY --from=builder /fluent-bit /fluent-bit
COPY --from=builder /Windows/System32/vcruntime140.dll /fluent-bit/bin/
EXPOSE 2020
ENTRYPOINT ["/fluent-bit/bin/fluent-bit.exe", "-i", "dummy"]`},
	{source: "kubernetes/test/images, busybox: files from the folder, mklink in a loop", runs: 1, text: `
ARG BASEIMAGE=mcr.microsoft.com/windows/nanoserver:ltsc2022
FROM $BASEIMAGE
ADD bin/. C:/bin/
USER ContainerAdministrator
RUN FOR /f "tokens=*" %i IN ('C:\bin\busybox.exe --list') DO mklink C:\bin\%i.exe C:\bin\busybox.exe
USER ContainerUser
ENV PATH="C:\bin;C:\Windows\System32"
ENTRYPOINT ["cmd.exe", "/s", "/c"]`},
	{source: "kubernetes/test/images, agnhost: tools of other images, links", runs: 1, text: `
ARG BASEIMAGE=mcr.microsoft.com/windows/nanoserver:ltsc2022
ARG REGISTRY=example.invalid/helper
FROM $REGISTRY/tools:ltsc2022 AS prep
FROM $BASEIMAGE
COPY --from=prep /tools /Windows/System32/
COPY a.txt /uploads/
ADD bin/agnhost /agnhost
RUN mklink agnhost.exe agnhost
EXPOSE 80 8080 8081 9376 5000
ENTRYPOINT ["/agnhost"]
CMD ["pause"]`},
	{source: "kubernetes/build/pause: a stage of its own for files, USER", text: `
ARG BASE=mcr.microsoft.com/windows/nanoserver:ltsc2022
FROM ${BASE}
ARG ARCH=amd64
ADD bin/wincat /Windows/System32/wincat.exe
ADD bin/pause-windows-${ARCH}.exe /pause.exe
USER ContainerUser
ENTRYPOINT ["/pause.exe"]`},
	{source: "sig-windows-tools, kube-proxy: a HostProcess image with scripts", text: `
ARG BASE="mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0"
FROM $BASE
ADD scripts/start.ps1 kube-proxy/start.ps1
ADD SERVER/kube-proxy.exe kube-proxy/kube-proxy.exe
ENV PATH="C:\Windows\system32;C:\Windows;C:\WINDOWS\System32\WindowsPowerShell\v1.0\;"
ENTRYPOINT ["PowerShell", "-NoLogo", "-NonInteractive", "-File", "start.ps1"]`},
	{source: "sig-windows-tools, calico: files of another image, SHELL", runs: 1, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/servercore:ltsc2022 as prep
SHELL ["powershell", "-NoLogo", "-Command", "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue';"]
RUN mkdir -force C:\k\calico; ` + "`" + `
    curl.exe -L https://example.invalid/calico.zip -o calico.zip; Expand-Archive calico.zip C:\k
COPY a.txt C:\k\calico\
FROM mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0
COPY --from=prep /k/calico /calico
COPY scripts/*.ps1 /calico/
ENTRYPOINT ["powershell", "-File", "calico/start.ps1"]`},
	{source: "a HostProcess image from scratch with hpc's layers", text: `
FROM scratch
COPY bin/agnhost ./agent.exe
ENV PATH="C:\Windows\system32;C:\Windows;"
ENTRYPOINT ["agent.exe"]`},
	{
		source: "windows_exporter: a builder for Linux", runs: 1, text: `
ARG BASE=mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0
FROM --platform=$BUILDPLATFORM golang:1.21 as builder
ARG TARGETARCH
WORKDIR /w
COPY go.mod ./
RUN go mod download
FROM $BASE
COPY --from=builder /w/exporter.exe /exporter.exe`,
	},
	{
		source: "a CSI driver: a builder for Linux with mounts", runs: 1, text: `
FROM --platform=linux/amd64 golang:1.22 AS build
COPY . .
RUN --mount=type=cache,target=/go/pkg GOOS=windows go build -o /driver.exe .
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
COPY --from=build /driver.exe /`,
	},
	{source: "a multi-platform file, of which the target is for Windows", text: `
FROM --platform=linux/amd64 golang:1.22 AS linux
RUN make
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022 AS windows
COPY bin/agnhost /app.exe
ENTRYPOINT ["/app.exe"]`},
	{source: "PowerShell-Docker: nested arguments, SHELL with several words, ENV with backslashes", runs: 2, text: `
# escape=` + "`" + `
ARG WindowsServerCoreTag=ltsc2022
FROM mcr.microsoft.com/windows/servercore:${WindowsServerCoreTag} AS installer-env
ARG PS_VERSION=7.4.0
ARG PS_PACKAGE_URL=https://example.invalid/v${PS_VERSION}/PowerShell-${PS_VERSION}-win-x64.zip
SHELL ["C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe", "-command"]
ARG PS_PACKAGE_URL_BASE64
RUN if ($env:PS_PACKAGE_URL_BASE64) {$url=[System.Text.Encoding]::Unicode.GetString([System.Convert]::FromBase64String($env:PS_PACKAGE_URL_BASE64))} else {$url=$env:PS_PACKAGE_URL}; ` + "`" + `
    Invoke-WebRequest -Uri $url -outfile /powershell.zip
COPY a.txt /PowerShell/
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
COPY --from=installer-env ["\\PowerShell\\", "$ProgramFiles\\PowerShell\\latest"]
ENV ProgramFiles="C:\Program Files" ` + "`" + `
    PSModuleAnalysisCachePath="C:\Users\Public\AppData\Local\Microsoft\Windows\PowerShell\docker\ModuleAnalysisCache" ` + "`" + `
    WindowsPATH="C:\Windows\system32;C:\Windows"
USER ContainerAdministrator
RUN setx PATH "%PATH%;%ProgramFiles%\PowerShell\latest;" /M
USER ContainerUser
CMD ["pwsh.exe"]`},
	{source: "Windows-Containers' IIS: a feature, a remote ServiceMonitor, EXPOSE", runs: 2, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
RUN powershell -Command ` + "`" + `
        Add-WindowsFeature Web-Server; ` + "`" + `
        Invoke-WebRequest -UseBasicParsing -Uri "https://example.invalid/ServiceMonitor.exe" -OutFile "C:\ServiceMonitor.exe"
RUN powershell -NoProfile -Command Remove-Item -Recurse C:\inetpub\wwwroot\*
WORKDIR /inetpub/wwwroot
COPY site/ .
EXPOSE 80
ENTRYPOINT ["C:\\ServiceMonitor.exe", "w3svc"]`},
	{source: "a site on Microsoft's image of IIS", text: `
FROM mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022
COPY site/ /inetpub/wwwroot/
EXPOSE 80`},
	{source: "chocolatey: one long RUN of PowerShell, NuGet's providers", runs: 2, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/servercore:10.0.17763.1158-amd64
RUN powershell.exe -Command ` + "`" + `
    Set-ExecutionPolicy Bypass -Scope Process -Force; ` + "`" + `
    iex ((New-Object System.Net.WebClient).DownloadString('https://example.invalid/install.ps1'))
RUN choco install git golang -y
ENTRYPOINT [ "powershell.exe" ]`},
	{source: "Visual Studio's build tools: cmd, || with an exit code, an exec form with quotes", runs: 1, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/dotnet/framework/runtime:4.8-windowsservercore-ltsc2022
SHELL ["cmd", "/S", "/C"]
ADD SERVER/vs_buildtools.exe C:\TEMP\vs_buildtools.exe
RUN (start /w C:\TEMP\vs_buildtools.exe --quiet --wait --norestart --nocache ` + "`" + `
        --installPath "%ProgramFiles(x86)%\Microsoft Visual Studio\2022\BuildTools" ` + "`" + `
        --remove Microsoft.VisualStudio.Component.Windows81SDK ` + "`" + `
        || IF "%ERRORLEVEL%"=="3010" EXIT 0)
ENTRYPOINT ["C:\\Program Files (x86)\\BuildTools\\VsDevCmd.bat", "&&", "powershell.exe", "-NoLogo"]`},
	{source: "a pipelines' agent: WORKDIR, scripts, CMD in shell form", text: `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
WORKDIR /azp/
COPY ./scripts/start.ps1 ./
CMD powershell .\start.ps1`},
	{source: "SQL Server: arguments as variables, a password, ADD of two addresses", runs: 1, text: `
# escape=` + "`" + `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
LABEL maintainer "somebody"
ENV exe="SERVER/SQL.exe"
ENV sa_password="_" ` + "`" + `
    ACCEPT_EULA="_" ` + "`" + `
    sa_password_path="C:\ProgramData\Docker\secrets\sa-password"
SHELL ["powershell", "-Command", "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue';"]
COPY scripts/start.ps1 /
WORKDIR /
RUN Invoke-WebRequest -Uri $env:exe -OutFile SQL.exe ; .\SQL.exe /q /ACTION=Install /SQLSYSADMINACCOUNTS='BUILTIN\ADMINISTRATORS'
HEALTHCHECK CMD [ "sqlcmd", "-Q", "select 1" ]
CMD .\start -sa_password $env:sa_password -ACCEPT_EULA $env:ACCEPT_EULA -Verbose`},
	{source: "a Java service: the image of a JDK, a jar, JSON form with options", text: `
FROM eclipse-temurin:17-jre-windowsservercore-ltsc2022
WORKDIR C:\\app
ARG JAR_FILE=bin/*.jar
COPY ${JAR_FILE} app.jar
ENTRYPOINT ["java", "-Xmx512m", "-jar", "C:\\app\\app.jar"]`},
	{source: "Rust: a builder with a cache and a bind of sources", runs: 1, text: `
# syntax=docker/dockerfile:1
# escape=` + "`" + `
FROM example.invalid/rust:windows AS build
WORKDIR C:\src
RUN --mount=type=bind,source=.,target=C:\src --mount=type=cache,sharing=locked,target=C:\cargo ` + "`" + `
    cargo build --release --target-dir C:\out
COPY a.txt C:\out\
FROM mcr.microsoft.com/windows/nanoserver:ltsc2025
COPY --from=build C:\out C:\app
CMD ["C:\\app\\app.exe"]`},
	{source: "private packages: a secret in PowerShell, a heredoc of several lines", runs: 2, text: `
# syntax=docker/dockerfile:1
FROM mcr.microsoft.com/windows/servercore:ltsc2022
SHELL ["powershell", "-Command"]
RUN --mount=type=secret,id=token,env=TOKEN nuget sources add -Password $env:TOKEN
RUN <<EOF
Write-Host one
Write-Host two
EOF
COPY <<config.json C:/app/config.json
{"a": 1}
config.json`},
	{
		source:  "a heredoc for cmd",
		refused: "Dockerfile:3: RUN <<EOF: cmd reads one line alone", text: `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
RUN <<EOF
echo one
echo two
EOF`,
	},
	{
		source:  "an SSH agent's socket in a build",
		refused: "Dockerfile:3: RUN --mount=type=ssh,target=C:/agent git clone git@example.invalid:a/b: --mount=type=ssh: it is not carried out", text: `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
RUN --mount=type=ssh,target=C:/agent git clone git@example.invalid:a/b`,
	},
	{
		source:  "the sources of a Git repository",
		refused: `Dockerfile:3: ADD https://example.invalid/a/b.git#v1 C:/src: "https://example.invalid/a/b.git#v1" is a Git repository`, text: `
FROM mcr.microsoft.com/windows/servercore:ltsc2022
ADD https://example.invalid/a/b.git#v1 C:/src`,
	},
	{
		source:  "an image for Linux alone",
		refused: "Dockerfile:2: FROM alpine:3.20: no image docker.io/library/alpine:3.20", text: `
FROM alpine:3.20
RUN apk add curl`,
	},
}

// TestPublicShapes holds what is built of what people write, and that what is not is refused by its line. What the
// commands of RUN do is not asked here.
func TestPublicShapes(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "tool")
	}))
	defer web.Close()
	files := map[string]string{
		"a.txt": "A", "app.sln": "", "go.mod": "module a", "package.json": "{}", "package-lock.json": "{}", "app.js": "",
		"site/site.csproj": "", "site/index.htm": "hello", "site/site.dll": "", "bin/agnhost": "MZ", "bin/busybox.exe": "MZ",
		"bin/wincat": "MZ", "bin/pause-windows-amd64.exe": "MZ", "bin/app.jar": "PK", "scripts/start.ps1": "exit",
		".dockerignore": "Dockerfile\n",
	}

	built, refused := 0, 0
	for _, tt := range shapes {
		c := commands{files: []imagebuild.File{
			{Name: "w/exporter.exe", Data: []byte("MZ"), Size: 2},
			{Name: "driver.exe", Data: []byte("MZ"), Size: 2},
		}}
		files["Dockerfile"] = strings.ReplaceAll(strings.TrimPrefix(tt.text, "\n"), "SERVER", web.URL)
		if !strings.HasPrefix(files["Dockerfile"], "#") {
			files["Dockerfile"] = "\n" + files["Dockerfile"] // the numbers of lines are those of the text here
		}

		m, err := try(t, files, func(o *dockerfile.Options) {
			c.in(o)
			o.Secrets = map[string][]byte{"token": []byte("T")}
			o.Base = publicBase
		})

		if tt.refused != "" {
			refused++
			if err == nil || !strings.HasPrefix(err.Error(), tt.refused) {
				t.Errorf("%s: %v, want %q", tt.source, err, tt.refused)
			}
			continue
		}

		built++
		if err != nil || len(c.asked) != tt.runs || m.digest == "" {
			t.Errorf("%s: %v, %d commands, want %d", tt.source, err, len(c.asked), tt.runs)
		}
	}

	t.Logf("%d Dockerfiles are built, %d refused", built, refused)
}

// publicBase knows what stands in for Microsoft's images, and some of others' as if their registry had them.
func publicBase(_ context.Context, ref, system string) (dockerfile.Base, error) {
	if spec, files, ok := image.StandIn(ref); ok && system == imagebuild.Windows {
		return dockerfile.Base{Spec: spec, Files: files}, nil
	}
	if strings.HasPrefix(ref, "docker.io/library/golang:1.2") && system == imagebuild.Linux {
		img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
		return dockerfile.Base{Image: img}, err
	}

	for _, known := range []string{
		"docker.io/stefanscherer/node-windows", "docker.io/library/golang:1.22-windowsservercore", "example.invalid/",
		"docker.io/library/eclipse-temurin:17-jre-windowsservercore",
	} {
		if strings.HasPrefix(ref, known) && system == imagebuild.Windows {
			return dockerfile.Base{
				Spec:  imagebuild.Spec{OSVersions: []string{"ltsc2022"}, User: "ContainerUser"},
				Files: map[string]string{"go/bin/go.exe": "MZ", "tools/tool.exe": "MZ"},
			}, nil
		}
	}

	return dockerfile.Base{}, fmt.Errorf("no image %s: %w", ref, errdefs.ErrNotFound)
}

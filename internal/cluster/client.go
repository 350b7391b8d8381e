package cluster

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Client asks the API server of the cluster of a data folder, as its administrator.
func Client(paths layout.Paths) (kubeclient.Interface, error) {
	return clientFor(paths.AdminKubeconfig())
}

// ClientOf asks the API server that a kubeconfig names.
func ClientOf(config clientcmdapi.Config) (kubeclient.Interface, error) {
	cfg, err := clientcmd.NewDefaultClientConfig(config, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 50, 100
	return kubeclient.NewForConfig(cfg)
}

func clientFor(kubeconfig string) (kubeclient.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 50, 100
	return kubeclient.NewForConfig(cfg)
}

package identity

import "testing"

func TestLocate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ endpoint, authority, scope string }{
		"":                         {"https://management.azure.com", "https://login.microsoftonline.com/", "https://management.core.windows.net//.default"},
		"https://127.0.0.1:8443/":  {"https://127.0.0.1:8443", "https://127.0.0.1:8443/", "https://management.core.windows.net//.default"},
		"http://[::1]:8080/arm":    {"http://[::1]:8080/arm", "http://[::1]:8080/arm/", "https://management.core.windows.net//.default"},
		"https://arm.corp.example": {"https://arm.corp.example", "https://login.microsoftonline.com/", "https://management.core.windows.net//.default"},
		"https://management.chinacloudapi.cn/": {
			"https://management.chinacloudapi.cn", "https://login.chinacloudapi.cn/", "https://management.core.chinacloudapi.cn//.default",
		},
		"https://management.usgovcloudapi.net": {
			"https://management.usgovcloudapi.net", "https://login.microsoftonline.us/", "https://management.core.usgovcloudapi.net//.default",
		},
	}
	for endpoint, want := range tests {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			got, err := Locate(endpoint)
			if err != nil || got.Endpoint() != want.endpoint || got.ActiveDirectoryAuthorityHost != want.authority || got.scope() != want.scope {
				t.Errorf("endpoint %q, authority %q, scope %q, %v; want %+v", got.Endpoint(), got.ActiveDirectoryAuthorityHost, got.scope(), err, want)
			}
		})
	}
}

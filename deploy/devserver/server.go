package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uiserveroptions "github.com/temporalio/ui-server/v2/server/server_options"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	clusterName = "active"
	storeName   = "sqlite"
)

// devDynamicConfig are the values that the Temporal CLI sets for its own
// development server; the user's values override them.
var devDynamicConfig = map[string]any{
	"frontend.namespaceRPS.visibility":               100,
	"frontend.persistenceMaxQPS":                     10000,
	"history.hostLevelCacheMaxSize":                  8096,
	"history.persistenceMaxQPS":                      45000,
	"system.forceSearchAttributesCacheRefreshOnRead": true,
}

type devServer struct {
	server temporal.Server
	ui     *uiserver.Server
}

func (s *devServer) stop() {
	if s.ui != nil {
		s.ui.Stop()
	}
	// Stop panics with an error of the fx graph when a service is already
	// down; the process ends here anyway.
	_ = s.server.Stop()
}

// start starts the server and, unless headless, the UI. It returns when the
// services run; the frontend may need some milliseconds more to answer.
func start(opts options) (*devServer, error) {
	cfg, err := serverConfig(opts)
	if err != nil {
		return nil, err
	}
	logger := newLogger(opts)
	authorizer, err := authorization.GetAuthorizerFromConfig(&cfg.Global.Authorization)
	if err != nil {
		return nil, fmt.Errorf("create authorizer: %w", err)
	}
	claims, err := authorization.GetClaimMapperFromConfig(&cfg.Global.Authorization, logger)
	if err != nil {
		return nil, fmt.Errorf("create claim mapper: %w", err)
	}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for _, name := range []primitives.ServiceName{
		primitives.FrontendService, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	} {
		hosts[name] = static.SingleLocalHost(address(opts.reachIP(), cfg.Services[string(name)].RPC.GRPCPort))
	}
	values := dynamicconfig.StaticClient{}
	for _, layer := range []map[string]any{devDynamicConfig, opts.dynamicConfig} {
		for key, value := range layer {
			values[dynamicconfig.MakeKey(key)] = value
		}
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		// Static hosts instead of ringpop: there is one of each, and the
		// start does not wait for gossip.
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(values),
	)
	if err != nil {
		return nil, fmt.Errorf("create server: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	started := &devServer{server: server}
	if !opts.headless {
		started.ui = newUI(opts)
		go func() {
			if err := started.ui.Start(); err != nil {
				// The server without its UI is still of use; the port is
				// most likely taken.
				fmt.Fprintf(os.Stderr, "devserver: start UI on port %d: %v\n", opts.uiPort, err)
			}
		}()
	}
	return started, nil
}

func newUI(opts options) *uiserver.Server {
	return uiserver.NewServer(uiserveroptions.WithConfigProvider(&uiconfig.Config{
		Host:                opts.uiIP,
		Port:                opts.uiPort,
		TemporalGRPCAddress: address(opts.reachIP(), opts.port),
		EnableUI:            true,
		Codec:               uiconfig.Codec{Endpoint: opts.uiCodecEndpoint},
		CORS:                uiconfig.CORS{CookieInsecure: true},
		HideLogs:            true,
		DisableNewsFetch:    true,
	}))
}

func newLogger(opts options) log.Logger {
	if opts.logLevel == "never" {
		return log.NewNoopLogger()
	}
	format := "console"
	if opts.logFormat == "json" {
		format = "json"
	}
	return log.NewZapLogger(log.BuildZapLogger(log.Config{Level: opts.logLevel, Format: format}))
}

func serverConfig(opts options) (*config.Config, error) {
	store, err := openStore(opts)
	if err != nil {
		return nil, err
	}
	ports := map[string]int{
		string(primitives.FrontendService): opts.port,
		string(primitives.HistoryService):  0,
		string(primitives.MatchingService): 0,
		string(primitives.WorkerService):   0,
	}
	var cfg config.Config
	cfg.Services = map[string]config.Service{}
	for name, port := range ports {
		ip := opts.ip
		if port == 0 {
			// Only the frontend is for others.
			ip = opts.reachIP()
			if port, err = freePort(ip); err != nil {
				return nil, err
			}
		}
		cfg.Services[name] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: ip}}
	}
	httpPort := opts.httpPort
	if httpPort == 0 {
		if httpPort, err = freePort(opts.ip); err != nil {
			return nil, err
		}
	}
	frontend := cfg.Services[string(primitives.FrontendService)]
	frontend.RPC.HTTPPort = httpPort
	cfg.Services[string(primitives.FrontendService)] = frontend

	cfg.Global.Membership.MaxJoinDuration = 30 * time.Second
	cfg.Global.Membership.BroadcastAddress = opts.reachIP()
	if opts.metricsPort > 0 {
		cfg.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{
			ListenAddress: address(opts.ip, opts.metricsPort),
			HandlerPath:   "/metrics",
		}}
	}
	cfg.Persistence.DefaultStore = storeName
	cfg.Persistence.VisibilityStore = storeName
	cfg.Persistence.NumHistoryShards = 1
	cfg.Persistence.DataStores = map[string]config.DataStore{storeName: {SQL: store}}
	cfg.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled:                true,
			InitialFailoverVersion: 1,
			RPCAddress:             address(opts.reachIP(), opts.port),
			HTTPAddress:            address(opts.reachIP(), httpPort),
			ClusterID:              uuid.NewString(),
		}},
	}
	cfg.DCRedirectionPolicy.Policy = "noop"
	cfg.Archival.History.State = "disabled"
	cfg.Archival.Visibility.State = "disabled"
	cfg.NamespaceDefaults.Archival.History.State = "disabled"
	cfg.NamespaceDefaults.Archival.Visibility.State = "disabled"
	cfg.PublicClient.HostPort = address(opts.reachIP(), opts.port)
	return &cfg, nil
}

// openStore makes the SQLite database and the namespaces where they are
// missing, and returns how the server reaches it.
func openStore(opts options) (*config.SQL, error) {
	store := &config.SQL{PluginName: sqliteplugin.PluginName}
	if opts.databaseFile == "" {
		store.DatabaseName = uuid.NewString()
		store.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	} else {
		file, err := filepath.Abs(opts.databaseFile)
		if err != nil {
			return nil, fmt.Errorf("resolve database file: %w", err)
		}
		if err := createSchema(file); err != nil {
			return nil, err
		}
		if err := dropUnusedIndexes(file, opts.searchAttributes); err != nil {
			return nil, err
		}
		store.DatabaseName = file
		store.ConnectAttributes = map[string]string{"mode": "rwc"}
		for pragma, value := range opts.sqlitePragmas {
			store.ConnectAttributes[pragma] = value
		}
	}
	var namespaces []*sqliteschema.NamespaceConfig
	for _, name := range opts.namespaces {
		namespace, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, opts.searchAttributes)
		if err != nil {
			return nil, fmt.Errorf("configure namespace %s: %w", name, err)
		}
		namespaces = append(namespaces, namespace)
	}
	if err := sqliteschema.CreateNamespaces(store, namespaces...); err != nil {
		return nil, fmt.Errorf("create namespaces: %w", err)
	}
	return store, nil
}

// createSchema makes the database under another name and renames it: a process
// that is killed in the middle leaves no half-made file that a later start
// would take for a whole one.
func createSchema(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for database file: %w", err)
	}
	draft := fmt.Sprintf("%s.%d.new", file, os.Getpid())
	if err := os.RemoveAll(draft); err != nil {
		return fmt.Errorf("remove unfinished database: %w", err)
	}
	err := sqliteschema.SetupSchema(&config.SQL{
		PluginName:        sqliteplugin.PluginName,
		DatabaseName:      draft,
		ConnectAttributes: map[string]string{"mode": "rwc"},
	})
	if err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	if err := os.Rename(draft, file); err != nil {
		return fmt.Errorf("keep new database: %w", err)
	}
	return nil
}

// prepareNamespaces waits until the frontend answers, raises the retention
// that the SQLite schema hard-codes to one day, and adds the search attributes
// that an older database lacks.
func prepareNamespaces(ctx context.Context, opts options) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	connection := client.Options{HostPort: address(opts.reachIP(), opts.port), Logger: sdklog.NewStructuredLogger(silent())}
	dialled, err := dial(ctx, connection)
	if err != nil {
		return err
	}
	defer dialled.Close()
	namespaces, err := client.NewNamespaceClient(connection)
	if err != nil {
		return fmt.Errorf("connect to the frontend: %w", err)
	}
	defer namespaces.Close()
	for _, name := range opts.namespaces {
		err := namespaces.Update(ctx, &workflowservice.UpdateNamespaceRequest{
			Namespace: name,
			Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(opts.namespaceRetention)},
		})
		if err != nil {
			return fmt.Errorf("set retention of namespace %s: %w", name, err)
		}
		if err := addSearchAttributes(ctx, dialled.OperatorService(), name, opts.searchAttributes); err != nil {
			return err
		}
	}
	return nil
}

// dial retries until the frontend serves or ctx ends: the server's Start
// returns before the frontend listens.
func dial(ctx context.Context, connection client.Options) (client.Client, error) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		dialled, err := client.DialContext(ctx, connection)
		if err == nil {
			if _, err = dialled.CheckHealth(ctx, &client.CheckHealthRequest{}); err == nil {
				return dialled, nil
			}
			dialled.Close()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the frontend: %w", err)
		case <-pause.C:
		}
	}
}

func addSearchAttributes(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string,
	wanted map[string]enumspb.IndexedValueType,
) error {
	present, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, kind := range wanted {
		if _, ok := present.CustomAttributes[name]; !ok {
			missing[name] = kind
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("add search attributes to namespace %s: %w", namespace, err)
	}
	return nil
}

func freePort(ip string) (int, error) {
	listener, err := net.Listen("tcp", address(ip, 0))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func address(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// silent is for the start's own client: its retries are no news.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

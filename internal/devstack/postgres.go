package devstack

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// postgresUser owns the cluster: a superuser, as in the usual images.
	// The application's own role is made by LightMem's migrations.
	postgresUser = "lightmem"
	// postgresDatabase is the database of the shared stack.
	postgresDatabase = "lightmem"
	// templateDatabase has both extensions and no table: what databases of
	// tests are cloned from.
	templateDatabase = "lightmem_template"
	// postgresUID is whom the server runs as inside its tree. Postgres
	// refuses to run as root.
	postgresUID = 5432

	// postgresTreeVersion is part of the tree's name in the cache: raise it
	// when what is put into the tree changes.
	postgresTreeVersion = "2"
)

// postgresPackages are what the tree is made of, with all they depend on. dash
// is the shell that initdb needs.
var postgresPackages = []string{"postgresql-17", "postgresql-17-age", "postgresql-17-pgvector", "postgresql-client-17", "dash"}

// postgresNeedless are packages (by parts of their names) that are only for
// scripts, translations and the JIT compiler, which stays off.
var postgresNeedless = []string{
	"perl", "libllvm", "libz3", "locales", "libc-l10n", "ucf", "debconf", "adduser", "passwd", "procps", "ssl-cert",
	"login.defs", "sensible", "init-system", "sysvinit", "postgresql-common",
}

// postgresTree returns a folder of the cache with Postgres, AGE and pgvector in
// it, fetched from Debian where it is missing.
func (s *site) postgresTree(ctx context.Context) (string, error) {
	key := fmt.Sprintf("postgres-17-%s-%s-%s", debianSuite, runtime.GOARCH, postgresTreeVersion)
	return s.cache.entry(ctx, key, func(draft string) (err error) {
		step := s.report.step("postgres", "fetch PostgreSQL 17, AGE and pgvector from Debian %s (about 100 MB)", debianSuite)
		defer step.end(&err)
		downloads, err := os.MkdirTemp(s.cache.dir, "apt-")
		if err != nil {
			return fmt.Errorf("make download folder: %w", err)
		}
		defer os.RemoveAll(downloads)
		packages, err := newAPT(ctx, downloads, step)
		if err != nil {
			return err
		}
		step.say("downloading packages")
		if err := packages.fetch(ctx, postgresPackages...); err != nil {
			return &Failure{
				Step: "download " + strings.Join(postgresPackages, " "), Err: err,
				Hint: "check the network and apt's proxy settings and run it again; or set LIGHTMEM_DATABASE_URL to a Postgres 17 with AGE and pgvector",
			}
		}
		archives, err := packages.archives(postgresNeedless...)
		if err != nil {
			return err
		}
		step.say("unpacking %d packages", len(archives))
		if err := unpack(ctx, draft, archives); err != nil {
			return err
		}
		for _, needless := range []string{"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/lib/postgresql/17/lib/bitcode"} {
			if err := os.RemoveAll(filepath.Join(draft, needless)); err != nil {
				return fmt.Errorf("trim tree: %w", err)
			}
		}
		return nil
	})
}

// cluster is one Postgres server: a data folder inside a tree, which the
// server sees as its whole file system.
type cluster struct {
	process process
	root    string // the tree, in the state folder
	name    string // the data folder is /data/NAME inside the tree
	small   bool   // for a test of its own: little memory
	user    string
	secret  string
}

// postgresRoot makes the stack's own copy of the tree: hard links to the cache
// where the file system allows, so it costs next to nothing. Data lies inside
// it; neither mounts nor the right to make them are needed.
func (s *site) postgresRoot(ctx context.Context) (string, error) {
	tree, err := s.postgresTree(ctx)
	if err != nil {
		return "", err
	}
	root := filepath.Join(s.opts.StateDir, "postgres", filepath.Base(tree))
	if isDir(root) {
		return root, nil
	}
	draft := root + ".new"
	if err := os.RemoveAll(draft); err != nil {
		return "", fmt.Errorf("remove unfinished tree: %w", err)
	}
	if err := linkTree(tree, draft); err != nil {
		return "", err
	}
	if err := furnishTree(draft); err != nil {
		return "", err
	}
	if err := os.Rename(draft, root); err != nil {
		return "", fmt.Errorf("keep tree: %w", err)
	}
	return root, nil
}

// linkTree copies a tree by hard links, or by content across file systems.
func linkTree(from, to string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case entry.Type().IsRegular():
			if os.Link(path, target) == nil {
				return nil
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, content, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copy tree: %w", err)
	}
	return nil
}

// furnishTree adds what the packages' scripts or a running system would: the
// user, /tmp, /dev/null, and the folder of the data.
func furnishTree(root string) error {
	for dir, mode := range map[string]os.FileMode{"etc": 0o755, "tmp": 0o777 | fs.ModeSticky, "dev": 0o755, "data": 0o755} {
		path := filepath.Join(root, dir)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, mode)); err != nil {
			return fmt.Errorf("furnish tree: %w", err)
		}
	}
	user := fmt.Sprintf("postgres:x:%d:%d::/data:/bin/sh\n", postgresUID, postgresUID)
	group := fmt.Sprintf("postgres:x:%d:\n", postgresUID)
	null := filepath.Join(root, "dev", "null")
	if err := errors.Join(
		os.WriteFile(filepath.Join(root, "etc", "passwd"), []byte(user), 0o644),
		os.WriteFile(filepath.Join(root, "etc", "group"), []byte(group), 0o644),
	); err != nil {
		return fmt.Errorf("furnish tree: %w", err)
	}
	// Where devices cannot be made, a plain file takes the output of initdb
	// just as well.
	if syscall.Mknod(null, syscall.S_IFCHR|0o666, 1<<8|3) != nil {
		if err := os.WriteFile(null, nil, 0o666); err != nil {
			return fmt.Errorf("furnish tree: %w", err)
		}
	}
	if err := os.Chmod(null, 0o666); err != nil {
		return fmt.Errorf("furnish tree: %w", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Join(root, "data"), postgresUID, postgresUID); err != nil {
			return fmt.Errorf("furnish tree: %w", err)
		}
	}
	return nil
}

// command is a program of the tree, run inside it as its own user: as root by
// chroot, otherwise in a user namespace where the caller is that user.
func (c cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command("/usr/lib/postgresql/17/bin/"+program, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin", "LANG=C.UTF-8", "HOME=/data"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: postgresUID, Gid: postgresUID}
	} else {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: postgresUID, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: postgresUID, HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

func (c cluster) data() string { return filepath.Join(c.root, "data", c.name) }

// create makes the data folder if there is none. It appears by a rename, when
// initdb is through.
func (c cluster) create(ctx context.Context) error {
	if isDir(c.data()) {
		return nil
	}
	draft := c.name + ".new"
	if err := os.RemoveAll(filepath.Join(c.root, "data", draft)); err != nil {
		return fmt.Errorf("remove unfinished data folder: %w", err)
	}
	secret := filepath.Join(c.root, "data", draft+".secret")
	if err := writeFile(secret, []byte(c.secret+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(secret)
	if os.Geteuid() == 0 {
		if err := os.Chown(secret, postgresUID, postgresUID); err != nil {
			return fmt.Errorf("hand over the password: %w", err)
		}
	}
	cmd := c.command("initdb", "--pgdata=/data/"+draft, "--username="+postgresUser, "--encoding=UTF8",
		"--locale=C.UTF-8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
		"--auth=scram-sha-256", "--pwfile=/data/"+draft+".secret", "--no-sync", "--no-instructions")
	if err := runQuietly(ctx, cmd); err != nil {
		return fmt.Errorf("create the database cluster: %w", err)
	}
	if err := os.Rename(filepath.Join(c.root, "data", draft), c.data()); err != nil {
		return fmt.Errorf("keep the database cluster: %w", err)
	}
	return nil
}

// start starts the server over an existing data folder, also after it was
// killed, and returns when it takes connections.
func (c cluster) start(ctx context.Context, port int) error {
	// Backends of a server that was killed go on until they notice, and
	// hold the shared memory that a new server would refuse to share.
	killThoseIn(c.data())
	if err := os.Remove(filepath.Join(c.data(), "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the stale lock: %w", err)
	}
	settings := map[string]string{
		"checkpoint_timeout":         "15min",
		"dynamic_shared_memory_type": "mmap", // needs no /dev/shm, and leaves nothing behind when killed
		"effective_cache_size":       "4GB",
		"jit":                        "off", // costs more than it saves on queries of milliseconds
		"listen_addresses":           localhost,
		"log_line_prefix":            "%m [%p] %q%u@%d ",
		"log_min_error_statement":    "panic", // statements hold people's words
		"log_parameter_max_length":   "0",
		"max_connections":            "200",
		"max_wal_size":               "4GB",
		"port":                       strconv.Itoa(port),
		"random_page_cost":           "1.1",
		"shared_buffers":             "512MB",
		"synchronous_commit":         "on",
		"timezone":                   "UTC",
		"unix_socket_directories":    "",
		"work_mem":                   "16MB",
	}
	if c.small {
		settings["shared_buffers"] = "32MB"
		settings["max_connections"] = "60"
		settings["max_wal_size"] = "256MB"
		settings["effective_cache_size"] = "256MB"
	}
	args := []string{"-D", "/data/" + c.name}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	cmd := c.command("postgres", args...)
	return c.process.start(ctx, cmd, port, filepath.Base(c.root), func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, c.url(port, "postgres"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

func (c cluster) url(port int, database string) string {
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword(c.user, c.secret), Host: hostPort(port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return address.String()
}

// killThoseIn kills the processes whose working folder is dir: a Postgres
// server and its backends have their data folder there.
func killThoseIn(dir string) {
	want, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return
	}
	folders, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, folder := range folders {
		if at, err := os.Readlink(folder); err == nil && at == want {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(folder))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// ensurePostgres returns the address of the stack's database, started and made
// where needed.
func (s *site) ensurePostgres(ctx context.Context) (string, error) {
	if external := os.Getenv("LIGHTMEM_DATABASE_URL"); external != "" {
		if err := checkPostgres(ctx, external); err != nil {
			return "", &Failure{
				Step: "use the Postgres that LIGHTMEM_DATABASE_URL names", Err: err,
				Hint: "start that server, or unset LIGHTMEM_DATABASE_URL to get one of our own",
			}
		}
		return external, nil
	}
	root, err := s.postgresRoot(ctx)
	if err != nil {
		return "", err
	}
	shared, err := s.cluster(root, "main")
	if err != nil {
		return "", err
	}
	if record, ok := shared.process.running(); ok {
		return shared.url(record.Port, postgresDatabase), nil
	}
	port, err := s.startPostgres(ctx, shared)
	if err != nil {
		return "", &Failure{
			Step: "start Postgres", Log: shared.process.log, Err: err,
			Hint: "see the log; `down` and `up` again, or set LIGHTMEM_DATABASE_URL to a Postgres 17 with AGE and pgvector",
		}
	}
	return shared.url(port, postgresDatabase), nil
}

func (s *site) startPostgres(ctx context.Context, shared cluster) (port int, err error) {
	step := s.report.step("postgres", "start PostgreSQL 17")
	defer step.end(&err)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := shared.create(ctx); err != nil {
		return 0, err
	}
	if port, err = s.choosePort(ctx, "postgres", postgresPort, isFree); err != nil {
		return 0, err
	}
	if err := shared.start(ctx, port); err != nil {
		return 0, err
	}
	if err := prepareDatabases(ctx, shared.url(port, "postgres")); err != nil {
		return 0, err
	}
	return port, nil
}

// cluster describes the server called name; its password is made at the first
// call and kept in the state folder.
func (s *site) cluster(root, name string) (cluster, error) {
	path := filepath.Join(s.opts.StateDir, "postgres", "password")
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var random [16]byte
		_, _ = rand.Read(random[:])
		secret = []byte(hex.EncodeToString(random[:]))
		err = writeFile(path, secret, 0o600)
	}
	if err != nil {
		return cluster{}, fmt.Errorf("keep the database password: %w", err)
	}
	return cluster{
		process: newProcess(s.opts.StateDir, cmp.Or(strings.TrimPrefix("postgres-"+name, "postgres-main"), "postgres")),
		root:    root, name: name, user: postgresUser, secret: string(secret),
	}, nil
}

// prepareDatabases makes the template with both extensions and the stack's own
// database. Each step may have been done before.
func prepareDatabases(ctx context.Context, admin string) error {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := ensureTemplate(ctx, conn, templateDatabase, "", addExtensions); err != nil {
		return err
	}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", postgresDatabase).Scan(&exists); err != nil {
		return fmt.Errorf("look for database %s: %w", postgresDatabase, err)
	}
	if !exists {
		if err := cloneDatabase(ctx, conn, templateDatabase, postgresDatabase); err != nil {
			return err
		}
	}
	return setDatabaseDefaults(ctx, conn, postgresDatabase)
}

// checkPostgres reports whether a server answers and has both extensions.
func checkPostgres(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var found int
	err = conn.QueryRow(ctx, "SELECT count(*) FROM pg_available_extensions WHERE name IN ('age', 'vector')").Scan(&found)
	if err != nil {
		return fmt.Errorf("ask for extensions: %w", err)
	}
	if found != 2 {
		return errors.New("the server lacks the extension age or vector")
	}
	return nil
}

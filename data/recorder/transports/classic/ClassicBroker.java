import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.activemq.broker.BrokerPlugin;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.security.AuthenticationUser;
import org.apache.activemq.security.SimpleAuthenticationPlugin;

/** ActiveMQ Classic with nothing on disk. Arguments: file of `login passcode` lines, addresses of its connectors. */
public class ClassicBroker {
    public static void main(String[] args) throws Exception {
        List<AuthenticationUser> users = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] words = line.split(" ");
            users.add(new AuthenticationUser(words[0], words[1], "users"));
        }
        BrokerService broker = new BrokerService();
        broker.setBrokerName("recorder");
        broker.setPersistent(false);
        broker.setUseJmx(false);
        broker.setAdvisorySupport(false);
        broker.setPlugins(new BrokerPlugin[] {new SimpleAuthenticationPlugin(users)});
        for (int at = 1; at < args.length; at++) {
            broker.addConnector(args[at]);
        }
        broker.start();
        new CountDownLatch(1).await();
    }
}

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.api.core.SimpleString;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.config.impl.SecurityConfiguration;
import org.apache.activemq.artemis.core.security.Role;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;
import org.apache.activemq.artemis.spi.core.security.ActiveMQJAASSecurityManager;
import org.apache.activemq.artemis.spi.core.security.jaas.InVMLoginModule;
import java.util.Set;

/** Artemis with STOMP acceptors and nothing on disk. Arguments: an acceptor's address, file of `login passcode` lines, more acceptors. */
public class EmbeddedBroker {
    public static void main(String[] args) throws Exception {
        SecurityConfiguration users = new SecurityConfiguration();
        for (String line : Files.readAllLines(Path.of(args[1]))) {
            String[] words = line.split(" ");
            users.addUser(words[0], words[1]);
            users.addRole(words[0], "users");
        }
        Role all = new Role("users", true, true, true, true, true, true, true, true, true, true, true, true);
        AddressSettings settings = new AddressSettings()
            .setAutoCreateAddresses(true).setAutoCreateQueues(true)
            .setDefaultAddressRoutingType(RoutingType.ANYCAST).setDefaultQueueRoutingType(RoutingType.ANYCAST)
            .setDeadLetterAddress(SimpleString.of("DLQ"));
        Configuration configuration = new ConfigurationImpl()
            .setPersistenceEnabled(false).setSecurityEnabled(true).setJournalDirectory("journal")
            .addAcceptorConfiguration("stomp", args[0] + (args[0].contains("?") ? ";" : "?") + "protocols=STOMP")
            .addAddressSetting("#", settings)
            .putSecurityRoles("#", Set.of(all));
        for (int number = 2; number < args.length; number++) {
            configuration.addAcceptorConfiguration("stomp" + number, args[number] + (args[number].contains("?") ? ";" : "?") + "protocols=STOMP");
        }
        EmbeddedActiveMQ broker = new EmbeddedActiveMQ().setConfiguration(configuration)
            .setSecurityManager(new ActiveMQJAASSecurityManager(InVMLoginModule.class.getName(), users));
        broker.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                broker.stop();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }));
        new CountDownLatch(1).await();
    }
}

import java.nio.file.Files;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.websocket.server.WsSci;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.messaging.simp.config.MessageBrokerRegistry;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.socket.config.annotation.EnableWebSocketMessageBroker;
import org.springframework.web.socket.config.annotation.StompEndpointRegistry;
import org.springframework.web.socket.config.annotation.WebSocketMessageBrokerConfigurer;

/** Spring's SimpleBroker in an embedded Tomcat, at /stomp as WebSocket and at /sockjs as SockJS. Arguments: address, port, ms of beats. */
public class SpringBroker {
    @Configuration
    @EnableWebSocketMessageBroker
    public static class Messaging implements WebSocketMessageBrokerConfigurer {
        @Bean
        public TaskScheduler beats() {
            ThreadPoolTaskScheduler made = new ThreadPoolTaskScheduler();
            made.setPoolSize(1);
            return made;
        }

        @Override
        public void registerStompEndpoints(StompEndpointRegistry registry) {
            registry.addEndpoint("/stomp").setAllowedOriginPatterns("*");
            registry.addEndpoint("/sockjs").setAllowedOriginPatterns("*").withSockJS().setHeartbeatTime(1500);
        }

        @Override
        public void configureMessageBroker(MessageBrokerRegistry registry) {
            long every = Long.getLong("beats");
            ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
            scheduler.initialize();
            registry.enableSimpleBroker("/queue").setTaskScheduler(scheduler).setHeartbeatValue(new long[] {every, every});
        }
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("beats", args[2]);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
        tomcat.setHostname(args[0]);
        tomcat.setPort(Integer.parseInt(args[1]));
        tomcat.getConnector().setProperty("address", args[0]);
        Context context = tomcat.addContext("", null);
        context.addServletContainerInitializer(new WsSci(), null);
        AnnotationConfigWebApplicationContext beans = new AnnotationConfigWebApplicationContext();
        beans.register(Messaging.class);
        Wrapper servlet = Tomcat.addServlet(context, "dispatcher", new DispatcherServlet(beans));
        servlet.setAsyncSupported(true);
        servlet.setLoadOnStartup(1);
        context.addServletMappingDecoded("/", "dispatcher");
        tomcat.start();
        tomcat.getServer().await();
    }
}
